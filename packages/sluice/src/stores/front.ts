import { performance } from 'node:perf_hooks'
import type { Answer, Ask, Charge, TakeAsk } from '../core/ask.ts'
import { type AskedStore, type Asker, askFor } from './asker.ts'
import { afterBreath } from './breath.ts'
import { DenyCache, type DenyCacheOptions } from './deny-cache.ts'
import { type LeaseOptions, Leases } from './leases.ts'
import type { StoreHealth, StoreObserver } from './store.ts'

export interface FrontOptions {
  /** Undefined for none. */
  readonly denyCache: DenyCacheOptions | undefined
  readonly lease: LeaseOptions
}

/** Stands before a store that is a round trip away, and answers what needs none: denials just made, and units drawn ahead. */
export function front(store: AskedStore, options: FrontOptions): AskedStore {
  return new Front(store, options)
}

class Front implements AskedStore {
  readonly name: string
  readonly #store: AskedStore
  readonly #denials: DenyCache | undefined
  readonly #leases: Leases
  #nowMs: number | undefined

  constructor(store: AskedStore, { denyCache, lease }: FrontOptions) {
    this.name = store.name
    this.#store = store
    this.#denials = denyCache && new DenyCache(denyCache)
    this.#leases = new Leases(store, lease)
  }

  watch(observer: StoreObserver): void {
    this.#denials?.watch(observer)
    this.#leases.watch(observer)
    this.#store.watch?.(observer)
  }

  decide(ask: Ask, withinMs: number): Answer | Promise<Answer> {
    return askFor(this, ask, withinMs)
  }

  submit(ask: Ask, withinMs: number, asker: Asker): Answer | undefined {
    if (ask.kind === 'take') return this.#take(ask, withinMs, asker)
    if (ask.kind !== 'peek') this.#denials?.forget(ask.charges)
    if (ask.kind === 'reset') this.#leases.drop(ask.charges)
    return this.#store.submit(ask, withinMs, asker)
  }

  takeKnown(charge: Charge): Answer | undefined {
    const nowMs = charge.rule.lease ? performance.now() : this.#breathMs()
    return this.#denials?.findKnown(charge, nowMs) ?? this.#leases.spendKnown(charge, nowMs)
  }

  health(withinMs: number): Promise<StoreHealth> {
    return this.#store.health(withinMs)
  }

  async close(): Promise<void> {
    await this.#leases.close()
    await this.#store.close()
  }

  #take(ask: TakeAsk, withinMs: number, asker: Asker): Answer | undefined {
    // A lease ends with its window, to the millisecond.
    const nowMs = ask.charges[0]?.rule.lease ? performance.now() : this.#breathMs()
    const known = this.#denials?.find(ask.charges, nowMs) ?? this.#leases.spend(ask, nowMs, withinMs)
    if (known !== undefined) return known
    const answer = this.#store.submit(ask, withinMs, new Learner(this, ask, nowMs, asker))
    if (answer !== undefined) this.learn(ask, answer, nowMs)
    return answer
  }

  /** The time, read once for all that ask in the same breath: reading it would cost as much as refusing. */
  #breathMs(): number {
    if (this.#nowMs === undefined) {
      this.#nowMs = performance.now()
      afterBreath(this.#breathe)
    }
    return this.#nowMs
  }

  readonly #breathe = (): void => {
    this.#nowMs = undefined
  }

  learn(ask: TakeAsk, answer: Answer, nowMs: number): void {
    this.#denials?.remember(ask.charges, answer, nowMs)
    this.#leases.observe(ask, answer, nowMs)
  }
}

/** One take under way. */
class Learner implements Asker {
  readonly #front: Front
  readonly #ask: TakeAsk
  readonly #askedMs: number
  readonly #asker: Asker

  constructor(front: Front, ask: TakeAsk, askedMs: number, asker: Asker) {
    this.#front = front
    this.#ask = ask
    this.#askedMs = askedMs
    this.#asker = asker
  }

  answered(answer: Answer): void {
    this.#front.learn(this.#ask, answer, this.#askedMs)
    this.#asker.answered(answer)
  }

  failed(error: unknown): void {
    this.#asker.failed(error)
  }
}
