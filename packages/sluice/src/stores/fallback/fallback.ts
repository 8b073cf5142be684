import { type BreakerState, Circuit, type Pass } from '../../breaker/circuit.ts'
import { failuresInARow } from '../../breaker/strategy.ts'
import type { Clock } from '../../core/clock.ts'
import type { Answer, Ask, Charge, OnStoreFailure } from '../../core/engine/ask.ts'
import { changeCharge } from '../../core/engine/charge.ts'
import { type FailureKind, StoreError } from '../../core/errors.ts'
import { Deadlines } from '../../runtime/deadlines.ts'
import { type AnswerCallback, type CallbackStore, toPromise } from '../callback-store.ts'
import { Observers } from '../observers.ts'
import type { Store, StoreAbilities, StoreHealth, StoreObserver } from '../store.ts'
import { LocalUsage } from './local-usage.ts'

export interface FallbackOptions {
  readonly failures: number
  readonly cooldownMs: number
  /** Among how many replicas the limits are shared while the store is away. */
  readonly replicas: () => number
  readonly clock: Clock
}

/** A store that answers whatever the store behind it does. */
export interface FallbackStore extends CallbackStore {
  readonly breaker: BreakerState
  /** Since the store last answered; 0 while it does. */
  readonly lastContactMs: number
}

/** Faults of one key or one call say nothing about the store as a whole. */
const local: ReadonlySet<FailureKind> = new Set(['wrongtype', 'full', 'script', 'closed'])

/** Of one charge about which nothing is known. Thousands may be answered so at the same moment. */
const noStatuses: Answer['statuses'] = Object.freeze([Object.freeze([])])

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
  #contactMs: number
  #failing = false

  constructor(store: Store, { failures, cooldownMs, replicas, clock }: FallbackOptions) {
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
      onChange: (state) => this.#observers.breaker(state),
    })
  }

  get breaker(): BreakerState {
    return this.#breaker.state
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
      return this.failed(ask, this.#breaker.pass!, error)
    }
  }

  submit(ask: Ask, withinMs: number, callback: AnswerCallback): Answer | undefined {
    const pass = this.#breaker.pass ?? this.#breaker.enter(this.#clock.monotonic())
    if (pass === undefined) return this.#answerWithout(ask, breakerOpen)
    if (!this.#local.isEmpty) this.#local.reportAhead(ask, this.#store, withinMs)
    try {
      const answer = this.#inProcess
        ? (this.#store.decide(ask, withinMs) as Answer)
        : this.#ask(ask, withinMs, new PendingAsk(this, ask, withinMs, pass, callback))
      if (answer !== undefined) this.recovered(pass, withinMs)
      return answer
    } catch (error) {
      return this.failed(ask, pass, error)
    }
  }

  health(withinMs: number): Promise<StoreHealth> {
    return this.#store.health(withinMs)
  }

  /** Leaves the store open: its creator closes it. */
  async close(): Promise<void> {
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

  recovered(pass: Pass, withinMs: number): void {
    if (this.#isWell) return
    this.#breaker.succeeded(pass)
    // An answer to a call that was out before the breaker opened is no sign of recovery.
    if (this.#breaker.state !== 'closed') return
    this.#failing = false
    if (!this.#local.isEmpty) void this.#local.report(this.#store, withinMs)
  }

  /** What is answered instead; throws what the callback has to learn of. */
  failed(ask: Ask, pass: Pass, error: unknown): Answer {
    const failure =
      error instanceof StoreError
        ? error
        : new StoreError('other', (error as Error)?.message ?? String(error), { cause: error })
    const now = this.#clock.monotonic()
    if (local.has(failure.kind)) this.#breaker.succeeded(pass)
    else if (failure.kind === 'overload') this.#breaker.cancelled(pass)
    else {
      if (!this.#failing) this.#contactMs = now
      this.#failing = true
      this.#breaker.failed(pass, now)
    }
    this.#observers.failure(failure.kind, failure)
    return this.#answerWithout(ask, failure)
  }

  #answerWithout(ask: Ask, failure: StoreError): Answer {
    if (ask.kind !== 'take' && ask.kind !== 'peek') throw failure
    // A process that has too much to do must not let more through: anybody could then open it by asking for enough.
    let mode: OnStoreFailure = failure.kind === 'overload' ? 'closed' : 'open'
    for (const { rule } of ask.charges)
      if (strictness[rule.onStoreFailure] > strictness[mode]) mode = rule.onStoreFailure
    if (mode !== 'local') {
      const isOpen = mode === 'open'
      const statuses = ask.charges.length === 1 ? noStatuses : ask.charges.map(() => [])
      return {
        allowed: isOpen,
        granted: isOpen ? copiesOf(ask) : 0,
        nowUs: this.#clock.now(),
        statuses,
        failure: failure.kind,
        by: isOpen ? 'open' : 'closed',
      }
    }
    const locals = ask.charges.filter((charge) => charge.rule.onStoreFailure === 'local')
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
    this.#owner.recovered(this.#pass, this.#withinMs)
    this.#callback.answered(answer)
  }

  failed(error: unknown): void {
    let answer: Answer
    try {
      answer = this.#owner.failed(this.#ask, this.#pass, error)
    } catch (failure) {
      this.#callback.failed(failure)
      return
    }
    this.#callback.answered(answer)
  }
}

/** For a store in process, which answers at once. */
const nobody: AnswerCallback = { answered: () => {}, failed: () => {} }

function late(): StoreError {
  return new StoreError('timeout', 'The store did not answer before the deadline.')
}

function copiesOf(ask: Ask): number {
  return ask.kind === 'take' ? ask.copies : 1
}

/** The statuses of the local charges, in the places they have among all. */
function spread(charges: readonly Charge[], locals: readonly Charge[], answer: Answer): Answer['statuses'] {
  return charges.map((charge) => answer.statuses[locals.indexOf(charge)] ?? [])
}
