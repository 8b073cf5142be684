import { type BreakerState, Circuit, type Pass } from '../../breaker/circuit.ts'
import { failuresInARow } from '../../breaker/strategy.ts'
import type { Clock, Timer } from '../../core/clock.ts'
import type { Answer, Ask, Charge, OnStoreFailure } from '../../core/engine/ask.ts'
import { changeCharge } from '../../core/engine/charge.ts'
import { type FailureKind, StoreError } from '../../core/errors.ts'
import { backgroundClock } from '../../runtime/background-clock.ts'
import { Deadlines } from '../../runtime/deadlines.ts'
import type { FallbackStore } from '../callback-store.ts'
import { type AnswerCallback, toPromise } from '../callback-store.ts'
import { Observers } from '../observers.ts'
import type { Store, StoreAbilities, StoreHealth, StoreObserver } from '../store.ts'
import { LocalUsage } from './local-usage.ts'
import { answerWithout, toStoreError } from './open-fallback.ts'

export interface FallbackOptions {
  readonly failures: number
  readonly cooldownMs: number
  /** Among how many replicas the limits are shared while the store is away. */
  readonly replicas: () => number
  readonly clock: Clock
  /** Called once when the store goes away, with how it failed, and once without when it is back. */
  readonly onOutage?: ((failure: FailureKind | undefined) => void) | undefined
}

/** Faults of one key or one call say nothing about the store as a whole. */
const local: ReadonlySet<FailureKind> = new Set(['wrongtype', 'format', 'full', 'script', 'closed'])

/**
 * Of failures that whole groups of subjects can have while the store is well: they must not let everything through. An
 * overloaded process must not let more in, as anybody could then open it by asking for enough; and a subject that a
 * newer version keeps is counted on this replica's share meanwhile.
 */
const atLeast: { readonly [Kind in FailureKind]?: OnStoreFailure } = { overload: 'closed', format: 'local' }

/**
 * Which rule of a decision prevails. A `recount` rule gets a denial here, which `recounting` then checks; without it,
 * it is the same as closed.
 */
const strictness: Readonly<Record<OnStoreFailure, number>> = { open: 0, local: 1, recount: 2, closed: 3 }

/**
 * Made once: while the store is away every decision meets it, and a stack for each would cost more than the decision.
 */
const breakerOpen = new StoreError('breaker', 'The store has failed repeatedly and is not asked for a moment.')

/**
 * Puts a breaker before a store, and answers by each rule's `onStoreFailure` when the store cannot: `open` allows,
 * `closed` denies, `local` decides on this replica's share. Only `take` and `peek` are answered so; other asks reject.
 * While the breaker is open, a probe in the background finds out when the store is back: no caller is refused for it.
 */
export function fallback(store: Store, options: FallbackOptions): FallbackStore {
  return new StoreWithFallback(store, options)
}

class StoreWithFallback implements FallbackStore {
  readonly name: string
  readonly #store: Store
  readonly #replicas: () => number
  readonly #breaker: Circuit
  readonly #local: LocalUsage
  readonly #deadlines: Deadlines
  readonly #clock: Clock
  readonly #abilities: StoreAbilities
  readonly #inProcess: boolean
  readonly #observers = new Observers()
  readonly #cooldownMs: number
  #contactMs: number
  #failing = false
  readonly #onOutage: FallbackOptions['onOutage']
  #isAway = false
  /** The last ask that failed by the store's fault. */
  #lastFailed: { readonly ask: Ask; readonly withinMs: number; readonly error: StoreError } | undefined
  #probeTimer: Timer | undefined
  #closed = false

  constructor(store: Store, { failures, cooldownMs, replicas, clock, onOutage }: FallbackOptions) {
    this.#onOutage = onOutage
    this.name = store.name
    this.#store = store
    this.#abilities = store.abilities ?? {}
    this.#inProcess = this.#abilities.inProcess === true
    this.#clock = clock
    this.#local = new LocalUsage(clock)
    this.#deadlines = new Deadlines(clock)
    this.#contactMs = clock.monotonic()
    this.#replicas = replicas
    this.#breaker = new Circuit({
      strategy: failuresInARow(failures),
      cooldownMs: () => cooldownMs,
      onChange: (state) => {
        this.#observers.breaker(state)
        if (state === 'open') this.#probeLater()
      },
    })
    this.#cooldownMs = cooldownMs
  }

  get breaker(): BreakerState {
    return this.#breaker.state
  }

  get failure(): StoreError | undefined {
    return this.#failing ? this.#lastFailed?.error : undefined
  }

  get lastContactMs(): number {
    return this.#failing ? this.#clock.monotonic() - this.#contactMs : 0
  }

  watch(observer: StoreObserver): () => void {
    const stops = [this.#observers.add(observer), this.#store.watch?.(observer)]
    return () => {
      for (const stop of stops) stop?.()
    }
  }

  decide(ask: Ask, withinMs: number): Answer | Promise<Answer> {
    if (!this.#inProcess) return toPromise(this, ask, withinMs)
    if (!this.#isWell) return this.submit(ask, withinMs, nobody)!
    try {
      return this.#store.decide(ask, withinMs)
    } catch (error) {
      return this.failed(ask, withinMs, this.#breaker.pass!, error)
    }
  }

  submit(ask: Ask, withinMs: number, callback: AnswerCallback): Answer | undefined {
    const { pass } = this.#breaker
    if (pass === undefined) return this.#answerWithout(ask, breakerOpen)
    if (!this.#local.isEmpty) this.#local.reportAhead(ask, this.#store, withinMs)
    return this.#send(ask, withinMs, pass, callback)
  }

  #send(ask: Ask, withinMs: number, pass: Pass, callback: AnswerCallback): Answer | undefined {
    try {
      const answer = this.#inProcess
        ? (this.#store.decide(ask, withinMs) as Answer)
        : this.#ask(ask, withinMs, new PendingAsk(this, ask, withinMs, pass, callback))
      if (answer !== undefined) this.answered(ask, answer, pass, withinMs)
      return answer
    } catch (error) {
      return this.failed(ask, withinMs, pass, error)
    }
  }

  #probeLater(): void {
    this.#clock.clearTimeout(this.#probeTimer)
    if (!this.#closed) this.#probeTimer = backgroundClock(this.#clock).setTimeout(() => this.#probe(), this.#cooldownMs)
  }

  /** Writes, as the next takes will, but spends nothing. */
  #probe(): void {
    const { ask, withinMs } = this.#lastFailed!
    const pass = this.#breaker.enter(this.#clock.monotonic())
    const charges = [changeCharge(ask.charges[0]!, { cost: 0 })]
    if (pass === undefined) this.#probeLater()
    else this.#send({ kind: 'take', charges, copies: 1, hold: undefined }, withinMs, pass, nobody)
  }

  health(withinMs: number): Promise<StoreHealth> {
    return this.#store.health(withinMs)
  }

  /** Leaves the store open: its creator closes it. */
  async close(): Promise<void> {
    this.#closed = true
    this.#clock.clearTimeout(this.#probeTimer)
    await this.#local.reported()
    this.#deadlines.close()
  }

  get #isWell(): boolean {
    return !this.#failing && this.#local.isEmpty
  }

  /**
   * A store that does not promise to keep its deadline gets one here; Redis does, and better: it also writes nothing
   * after it.
   */
  #ask(ask: Ask, withinMs: number, call: AnswerCallback): Answer | undefined {
    const { submit, keepsDeadlines } = this.#abilities
    if (submit !== undefined && keepsDeadlines) return submit(ask, withinMs, call)
    // A store of somebody else may copy charges field by field.
    const answer = this.#store.decide({ ...ask, charges: ask.charges.map((charge) => changeCharge(charge)) }, withinMs)
    if (!(answer instanceof Promise)) return answer
    const inTime = keepsDeadlines ? answer : this.#deadlines.inTime(answer, this.#clock.monotonic() + withinMs, late)
    inTime.then(
      (settled) => {
        if (settled !== undefined) call.answered(settled)
        else call.failed(new StoreError('other', 'The store resolved to no answer.'))
      },
      (error) => call.failed(error),
    )
    return undefined
  }

  answered(ask: Ask, answer: Answer, pass: Pass, withinMs: number): void {
    if (ask.kind === 'take' && !this.#inProcess) this.#local.learn(ask.charges, answer)
    if (this.#isWell) return
    this.#breaker.succeeded(pass)
    // An answer to a call that was out before the breaker opened is no sign of recovery.
    if (this.#breaker.state !== 'closed') return
    this.#failing = false
    if (this.#isAway) this.#onOutage?.(undefined)
    this.#isAway = false
    if (!this.#local.isEmpty) void this.#local.report(this.#store, withinMs)
  }

  /** What is answered instead; throws what the callback has to learn of. */
  failed(ask: Ask, withinMs: number, pass: Pass, error: unknown): Answer {
    const failure = toStoreError(error)
    const now = this.#clock.monotonic()
    if (local.has(failure.kind)) this.#breaker.succeeded(pass)
    else if (failure.kind === 'overload') {
      // It shows nothing about the store. Without another probe, nothing would be sent ever again.
      if (this.#breaker.cancelled(pass) && this.#breaker.state === 'half-open') this.#probeLater()
    } else {
      if (!this.#failing) this.#contactMs = now
      this.#failing = true
      this.#lastFailed = { ask, withinMs, error: failure }
      this.#breaker.failed(pass, now)
      // A single answer that came late is no outage.
      if (!this.#isAway && (failure.kind !== 'timeout' || this.#breaker.state !== 'closed')) {
        this.#isAway = true
        this.#onOutage?.(failure.kind)
      }
    }
    this.#observers.failure(failure.kind, failure)
    return this.#answerWithout(ask, failure)
  }

  #answerWithout(ask: Ask, failure: StoreError): Answer {
    if (ask.kind === 'settle' || ask.kind === 'extend') {
      // A hold of this outage is known here only.
      const locals = ask.charges.filter(isOfLocalRule)
      const answer = locals.length > 0 ? this.#local.decide(ask, locals, this.#replicas()) : undefined
      if (answer && answer.granted > 0) return { ...answer, failure: failure.kind, by: 'local' }
    }
    if (ask.kind !== 'take' && ask.kind !== 'peek') throw failure
    let mode: OnStoreFailure = atLeast[failure.kind] ?? 'open'
    for (const { rule } of ask.charges)
      if (strictness[rule.onStoreFailure] > strictness[mode]) mode = rule.onStoreFailure
    if (mode !== 'local') return answerWithout(ask, failure, mode === 'open', this.#clock.now())
    const isLocal = (charge: Charge) => failure.kind === 'format' || isOfLocalRule(charge)
    const locals = ask.charges.filter(isLocal)
    const answer = this.#local.decide(ask, locals, this.#replicas())
    return { ...answer, statuses: spread(ask.charges, locals, answer), failure: failure.kind, by: 'local' }
  }
}

/** One ask in flight. */
class PendingAsk implements AnswerCallback {
  readonly #owner: StoreWithFallback
  readonly #ask: Ask
  readonly #withinMs: number
  readonly #pass: Pass
  readonly #callback: AnswerCallback

  constructor(owner: StoreWithFallback, ask: Ask, withinMs: number, pass: Pass, callback: AnswerCallback) {
    this.#owner = owner
    this.#ask = ask
    this.#withinMs = withinMs
    this.#pass = pass
    this.#callback = callback
  }

  answered(answer: Answer): void {
    this.#owner.answered(this.#ask, answer, this.#pass, this.#withinMs)
    this.#callback.answered(answer)
  }

  failed(error: unknown): void {
    let answer: Answer
    try {
      answer = this.#owner.failed(this.#ask, this.#withinMs, this.#pass, error)
    } catch (failure) {
      this.#callback.failed(failure)
      return
    }
    this.#callback.answered(answer)
  }
}

/** For a store in process, which answers at once, and for a probe, whose answer nobody needs. */
const nobody: AnswerCallback = { answered: () => {}, failed: () => {} }

function late(): StoreError {
  return new StoreError('timeout', 'The store did not answer before the deadline.')
}

const isOfLocalRule = ({ rule }: Charge): boolean => rule.onStoreFailure === 'local'

/** The statuses of the local charges, at their indices among all. */
function spread(charges: readonly Charge[], locals: readonly Charge[], answer: Answer): Answer['statuses'] {
  return charges.map((charge) => answer.statuses[locals.indexOf(charge)] ?? [])
}
