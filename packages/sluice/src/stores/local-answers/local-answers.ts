import type { Clock } from '../../core/clock.ts'
import type { Answer, Ask, TakeAsk } from '../../core/engine/ask.ts'
import { runInMicrotask } from '../../runtime/microtask.ts'
import { type AnswerCallback, type CallbackStore, toPromise } from '../callback-store.ts'
import { Observers } from '../observers.ts'
import type { StoreHealth, StoreObserver } from '../store.ts'
import { DenyCache, type DenyCacheOptions } from './deny-cache.ts'
import type { LeaseOptions } from './lease.ts'
import { Leases } from './leases.ts'

export interface LocalAnswersOptions {
  /** Undefined for none. */
  readonly denyCache: DenyCacheOptions | undefined
  readonly lease: LeaseOptions
  readonly clock: Clock
}

/**
 * Stands before a store that is a round trip away, and answers what needs none: denials just made, and units drawn
 * ahead.
 */
export function localAnswers(store: CallbackStore, options: LocalAnswersOptions): CallbackStore {
  return new LocalAnswers(store, options)
}

class LocalAnswers implements CallbackStore {
  readonly name: string
  readonly #store: CallbackStore
  readonly #denials: DenyCache | undefined
  readonly #leases: Leases
  readonly #clock: Clock
  readonly #observers = new Observers()
  #nowMs: number | undefined

  constructor(store: CallbackStore, { denyCache, lease, clock }: LocalAnswersOptions) {
    this.name = store.name
    this.#store = store
    this.#clock = clock
    this.#denials = denyCache && new DenyCache(denyCache, this.#observers, clock)
    this.#leases = new Leases(store, lease, clock, this.#observers)
  }

  watch(observer: StoreObserver): () => void {
    const stops = [this.#observers.add(observer), this.#store.watch(observer)]
    return () => {
      for (const stop of stops) stop()
    }
  }

  decide(ask: Ask, withinMs: number): Answer | Promise<Answer> {
    return toPromise(this, ask, withinMs)
  }

  submit(ask: Ask, withinMs: number, callback: AnswerCallback): Answer | undefined {
    if (ask.kind === 'take') return this.#take(ask, withinMs, callback)
    if (ask.kind === 'peek') return this.#store.submit(ask, withinMs, callback)
    this.#denials?.forget(ask.charges)
    if (ask.kind === 'reset' || ask.kind === 'block') this.#leases.drop(ask.charges)
    return this.#store.submit(ask, withinMs, this.#denials ? new Changer(this.#denials, ask, callback) : callback)
  }

  health(withinMs: number): Promise<StoreHealth> {
    return this.#store.health(withinMs)
  }

  async close(): Promise<void> {
    await this.#leases.close()
    await this.#store.close()
  }

  #take(ask: TakeAsk, withinMs: number, callback: AnswerCallback): Answer | undefined {
    // A lease and a denial end to the millisecond; when nothing but an ask follows, an earlier time does.
    const isExact = ask.charges[0]?.rule.lease || this.#denials?.isEmpty === false
    const nowMs = isExact ? this.#clock.monotonic() : this.#tickMs()
    // An ask with the id of an open hold costs nothing, so a full limit does not deny it.
    const mayBeHeld = ask.hold !== undefined && ask.hold.isNew !== true
    const denial = mayBeHeld ? undefined : this.#denials?.find(ask.charges, nowMs)
    const known = denial ?? this.#leases.spend(ask, nowMs, withinMs)
    if (known !== undefined) return known
    const changes = this.#denials?.changes ?? 0
    const answer = this.#store.submit(ask, withinMs, new Learner(this, ask, nowMs, changes, callback))
    if (answer !== undefined) this.learn(ask, answer, nowMs, changes)
    return answer
  }

  /** The time, read once for all asks of one microtask. */
  #tickMs(): number {
    if (this.#nowMs === undefined) {
      this.#nowMs = this.#clock.monotonic()
      runInMicrotask(this.#endTick)
    }
    return this.#nowMs
  }

  readonly #endTick = (): void => {
    this.#nowMs = undefined
  }

  learn(ask: TakeAsk, answer: Answer, nowMs: number, changes: number): void {
    this.#denials?.remember(ask.charges, answer, nowMs, changes)
    this.#leases.observe(ask, answer, nowMs)
  }
}

/** One take in flight. */
class Learner implements AnswerCallback {
  readonly #localAnswers: LocalAnswers
  readonly #ask: TakeAsk
  readonly #askedMs: number
  readonly #changes: number
  readonly #callback: AnswerCallback

  constructor(owner: LocalAnswers, ask: TakeAsk, askedMs: number, changes: number, callback: AnswerCallback) {
    this.#localAnswers = owner
    this.#ask = ask
    this.#askedMs = askedMs
    this.#changes = changes
    this.#callback = callback
  }

  answered(answer: Answer): void {
    this.#localAnswers.learn(this.#ask, answer, this.#askedMs, this.#changes)
    this.#callback.answered(answer)
  }

  failed(error: unknown): void {
    this.#callback.failed(error)
  }
}

/** Forgets denials again when the answer to a change comes: the change lands at any time before it. */
class Changer implements AnswerCallback {
  readonly #denials: DenyCache
  readonly #ask: Ask
  readonly #callback: AnswerCallback

  constructor(denials: DenyCache, ask: Ask, callback: AnswerCallback) {
    this.#denials = denials
    this.#ask = ask
    this.#callback = callback
  }

  answered(answer: Answer): void {
    this.#denials.forget(this.#ask.charges)
    this.#callback.answered(answer)
  }

  failed(error: unknown): void {
    this.#denials.forget(this.#ask.charges)
    this.#callback.failed(error)
  }
}
