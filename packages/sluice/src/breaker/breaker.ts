import { callOptionCheck, checkFunction, checkOptionNames } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { invalidOption, SluiceError } from '../core/errors.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import { type CloseOptions, closeInTime, closeWithinMs, type Part, type PartHealth } from '../runtime/part.ts'
import { BreakerOpenError } from './breaker-open-error.ts'
import { type BreakerState, Circuit, type Pass } from './circuit.ts'
import type { BreakerEvents } from './events.ts'
import type { ResolvedBreakerOptions } from './options.ts'
import type { Failure, Outcome, RunOptions, WrapOptions } from './run-options.ts'
import { loadCircuit, type SavedBreaker, type SavedState, saveCircuit } from './saved-breaker.ts'
import { type BreakerCounts, type BreakerStats, breakerHealth, type CallOutcome, noCounts } from './stats.ts'
import { isAborted, judge } from './verdict.ts'
import { type Call, checkCallable, signalOf } from './wrappers/call.ts'

// With a parameter for a signal, so that an inner timeout can pass one.
const noCall: Call = Object.freeze({ signal: undefined as unknown as AbortSignal })
const checkNames = {
  'breaker.run': callOptionCheck('breaker.run', ['fallback', 'signal']),
  'breaker.outcome': callOptionCheck('breaker.outcome', ['fallback', 'signal']),
} as const

/** The parts of a breaker. */
export interface BreakerSetup {
  readonly options: ResolvedBreakerOptions
  readonly events: Emitter<BreakerEvents>
  /** Counts of all breakers of a set together. */
  readonly totals?: BreakerCounts
  /** How an earlier one was left. */
  readonly saved?: SavedState | undefined
  readonly onChange?: (state: BreakerState) => void
  readonly onClose?: () => void
}

/** Stops calling what keeps failing. It has no timers: one that is dropped need not be closed. */
export class Breaker implements Part<BreakerEvents> {
  readonly key: string
  readonly #circuit: Circuit
  readonly #events: Emitter<BreakerEvents>
  readonly #clock: Clock
  readonly #isFailure: ((error: unknown) => boolean) | undefined
  readonly #isFailedResult: ((result: unknown) => boolean) | undefined
  readonly #needsTime: boolean
  readonly #timesCalls: boolean
  readonly #counts: BreakerCounts = noCounts()
  readonly #totals: BreakerCounts
  readonly #onClose: (() => void) | undefined
  #isClosed = false
  #inFlight = 0
  #late = 0
  /** Made once for each opening: a stack trace for every rejected call would cost more than the call. */
  #openError: BreakerOpenError | undefined

  constructor(key: string, { options, events, totals = noCounts(), saved, onChange, onClose }: BreakerSetup) {
    const circuit = options.circuit()
    this.key = key
    this.#events = events
    this.#totals = totals
    this.#onClose = onClose
    this.#clock = options.clock
    this.#isFailure = options.isFailure
    this.#isFailedResult = options.isFailedResult
    this.#needsTime = circuit.strategy.timed
    this.#timesCalls = circuit.strategy.slowMs < Infinity
    this.#circuit = new Circuit({
      ...circuit,
      onChange: (state, previous) => {
        this.#openError = undefined
        onChange?.(state)
        events.emit('stateChanged', { key, state, previous })
      },
    })
    if (saved !== undefined) loadCircuit(this.#circuit, saved, options.clock)
  }

  get state(): BreakerState {
    return this.#circuit.state
  }

  /** Admits no call from now on, until `restore`: for maintenance, or what only people can know. */
  isolate(): void {
    this.#circuit.isolate(this.#clock.monotonic())
  }

  /** Closes it at once, whether it was isolated or opened by itself. */
  restore(): void {
    this.#circuit.restore()
  }

  /** Its state as plain JSON, for `saved` of a later breaker. One that is closed starts afresh. */
  save(): SavedBreaker {
    const state = saveCircuit(this.#circuit, this.#clock)
    return { open: state === undefined ? {} : { [this.key]: state } }
  }

  stats(): BreakerStats {
    return {
      key: this.key,
      state: this.state,
      isolated: this.#circuit.isIsolated,
      ...this.#counts,
      inFlight: this.#inFlight,
      late: this.#late,
      retryAfterMs: this.#circuit.retryAfterMs(this.#clock.monotonic()),
    }
  }

  /** Always ready until it is closed: an open breaker does its work, and is a warning. */
  async health(): Promise<PartHealth> {
    return breakerHealth([this.stats()], this.#isClosed ? closedText(this.key) : undefined)
  }

  /** Refuses calls from now on. Those in flight go on; `within` is how long to wait for them, not at all by default. */
  async close(options: CloseOptions = {}): Promise<void> {
    const withinMs = closeWithinMs('breaker.close', options) ?? 0
    this.#isClosed = true
    this.#onClose?.()
    if (withinMs > 0 && this.#inFlight > 0) await this.#lastCall(withinMs)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Calls back on every event of this kind, until the returned function is called. */
  on<Name extends keyof BreakerEvents>(name: Name, listener: (event: BreakerEvents[Name]) => void): () => void {
    checkCallable('breaker.on', listener)
    return this.#events.on(name, (event) => {
      // Breakers of one set share an emitter.
      if (event.key === this.key) listener(event)
    })
  }

  /**
   * Calls the function, if the breaker admits it, and resolves to its result. Otherwise, or when it fails, resolves to
   * what the fallback returns; without a fallback it rejects. An error that is not a failure (see `isFailure`) and the
   * caller's own abort always reject. If a time limit was over before the call, the fallback answers too.
   */
  run<Result, Fallback = never>(
    fn: (call: Call) => Result | PromiseLike<Result>,
    options: RunOptions<Fallback> = noCall,
  ): Promise<Result | Fallback> {
    // Not an async function: its promise, beside that of `#run`, would be a third of what a call costs.
    try {
      if (typeof fn !== 'function') checkCallable('breaker.run', fn)
      if (options !== noCall) checkRunOptions('breaker.run', options)
    } catch (error) {
      return Promise.reject(error)
    }
    return this.#run(fn, options)
  }

  async #run<Result, Fallback = never>(
    fn: (call: Call) => Result | PromiseLike<Result>,
    options: RunOptions<Fallback>,
  ): Promise<Result | Fallback> {
    const { signal } = options
    if (this.#isClosed)
      throw new SluiceError('SLUICE_CLOSED', `${closedText(this.key)}; make a new one with createBreaker.`)
    if (signal?.aborted) return await this.#notBegun(options, signal)
    const pass = this.#circuit.pass ?? this.#circuit.enter(this.#clock.monotonic())
    if (pass === undefined) return await this.#reject(options)
    const startMs = this.#timesCalls ? this.#clock.monotonic() : 0
    this.#inFlight += 1
    let result: Result
    try {
      result = await fn(signal === undefined ? noCall : { signal })
    } catch (error) {
      if (!this.#failed(pass, startMs, error, signal)) throw error
      return await this.#instead(options, { reason: 'failed', error })
    }
    if (this.#isFailedResult !== undefined && this.#isBad(this.#isFailedResult, result))
      this.#failedWith(pass, startMs, { result })
    else this.#succeeded(pass, startMs)
    return result
  }

  #isBad(isFailedResult: (result: unknown) => boolean, result: unknown): boolean {
    try {
      return isFailedResult(result)
    } catch {
      // It could not read the result, so nothing shows that it is good.
      return true
    }
  }

  /** Like `run`, with a flag for whether the fallback answered. */
  async outcome<Result, Fallback>(
    fn: (call: Call) => Result | PromiseLike<Result>,
    options: RunOptions<Fallback> & Required<Pick<RunOptions<Fallback>, 'fallback'>>,
  ): Promise<Outcome<Result, Fallback>> {
    checkCallable('breaker.outcome', fn)
    checkRunOptions('breaker.outcome', options ?? {})
    const { signal, fallback } = options ?? {}
    if (fallback === undefined) throw invalidOption('breaker.outcome.fallback', fallback, 'pass a function')
    const failures: Failure[] = []
    const value = await this.#run(fn, {
      signal,
      fallback: (failure) => {
        failures.push(failure)
        return fallback(failure)
      },
    })
    const [failure] = failures
    if (failure === undefined) return { degraded: false, value: value as Result }
    return { degraded: true, value: value as Fallback, ...failure }
  }

  /**
   * A function with the same parameters as `fn` that runs it through the breaker. The signal is that of the last
   * argument, if it has one.
   */
  wrap<This, Args extends unknown[], Result, Fallback = never>(
    fn: (this: This, ...args: Args) => Result | PromiseLike<Result>,
    options: WrapOptions<Args, Fallback> = {},
  ): (this: This, ...args: Args) => Promise<Result | Fallback> {
    checkCallable('breaker.wrap', fn)
    checkOptionNames('breaker.wrap', options, ['fallback'])
    const { fallback } = options
    checkFunction('breaker.wrap.fallback', fallback)
    const breaker = this
    return function throughBreaker(...args) {
      const instead = fallback && ((failure: Failure) => fallback(failure, ...args))
      const signal = signalOf(args)
      return breaker.#run(() => fn.apply(this, args), instead ? { signal, fallback: instead } : { signal })
    }
  }

  /** Resolves when no call is in flight, or when the time is up. */
  async #lastCall(withinMs: number): Promise<void> {
    let stop = (): void => undefined
    const ended = new Promise<void>((resolve) => {
      stop = this.on('called', () => this.#inFlight === 0 && resolve())
    })
    await closeInTime(withinMs, this.#clock)(ended)
    stop()
  }

  #succeeded(pass: Pass, startMs: number): void {
    const nowMs = this.#needsTime ? this.#clock.monotonic() : 0
    this.#settled('succeeded', this.#circuit.succeeded(pass, nowMs, nowMs - startMs))
  }

  /** Counts a call that rejected; true when the fallback should answer. */
  #failed(pass: Pass, startMs: number, error: unknown, signal: AbortSignal | undefined): boolean {
    const verdict = judge(error, signal, this.#isFailure)
    if (verdict === 'succeeded') this.#succeeded(pass, startMs)
    else if (verdict === 'failed') this.#failedWith(pass, startMs, { error })
    else this.#settled(verdict, this.#circuit.cancelled(pass))
    return verdict === 'failed' || verdict === 'rejected'
  }

  #failedWith(pass: Pass, startMs: number, why: { readonly error?: unknown; readonly result?: unknown }): void {
    const nowMs = this.#clock.monotonic()
    const counts = this.#circuit.failed(pass, nowMs, nowMs - startMs)
    this.#settled('failed', counts)
    if (this.#events.has('failed'))
      this.#events.emit('failed', { key: this.key, error: why.error, ...why, late: !counts })
  }

  #settled(outcome: CallOutcome, isInTime: boolean): void {
    this.#inFlight -= 1
    if (!isInTime) this.#late += 1
    this.#count(outcome, !isInTime)
  }

  #count(outcome: CallOutcome, late: boolean): void {
    this.#counts[outcome] += 1
    this.#totals[outcome] += 1
    if (this.#events.has('called')) this.#events.emit('called', { key: this.key, outcome, late })
  }

  /**
   * The signal was aborted before the call. That shows nothing about what would have been called; if it was a time
   * limit, the fallback still answers.
   */
  #notBegun<Fallback>(options: RunOptions<Fallback>, signal: AbortSignal): Fallback | PromiseLike<Fallback> {
    this.#count('cancelled', false)
    if (isAborted(signal)) throw signal.reason
    return this.#instead(options, { reason: 'failed', error: signal.reason })
  }

  #reject<Fallback>(options: RunOptions<Fallback>): Fallback | PromiseLike<Fallback> {
    this.#count('rejected', false)
    this.#openError ??= new BreakerOpenError(this.key, () => this.#circuit.retryAfterMs(this.#clock.monotonic()))
    return this.#instead(options, { reason: 'open', error: this.#openError })
  }

  #instead<Fallback>({ fallback }: RunOptions<Fallback>, failure: Failure): Fallback | PromiseLike<Fallback> {
    if (fallback === undefined) throw failure.error
    if (this.#events.has('fellBack')) this.#events.emit('fellBack', { key: this.key, ...failure })
    return fallback(failure)
  }
}

function checkRunOptions(owner: keyof typeof checkNames, options: RunOptions<unknown>): void {
  if (options === null) throw invalidOption(`${owner} options`, options, 'pass an object, or leave it out')
  checkNames[owner](options)
  if (typeof options.fallback !== 'function') checkFunction(`${owner}.fallback`, options.fallback)
}

/** Not only "is closed", which is also the state in which a breaker admits calls. */
const closedText = (key: string): string => `The breaker ${JSON.stringify(key)} was closed for good`
