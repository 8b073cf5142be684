import { windowMsOf } from '../../core/algorithms/limit.ts'
import type { Clock } from '../../core/clock.ts'
import type { Charge, LimitStatus, PeekAsk, TakeAsk } from '../../core/engine/ask.ts'
import { StoreError } from '../../core/errors.ts'
import type { KnownSubjects } from './known-subjects.ts'
import { periodOf } from './known-subjects.ts'
import type { Source } from './source.ts'

/** What the source of truth says of one charge. */
export interface Outcome {
  readonly allowed: boolean
  /** Units that were admitted and are not in the store yet. */
  readonly admitted: number
  readonly statuses: readonly LimitStatus[]
}

interface Parts {
  readonly subjects: KnownSubjects
  readonly replicas: () => number
  readonly clock: Clock
}

/** Decides on charges by the source of truth while the store is away. */
export class WithoutStore {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Rejects when the source does not answer, too. */
  decide(ask: TakeAsk | PeekAsk, charge: Charge, source: Source, id: string, endMs: number): Promise<Outcome> {
    if (source.takes && ask.kind === 'take') return this.#take(charge, source, id, endMs)
    if (!source.counts) throw new StoreError('other', `The source of ${charge.rule.name} can decide, but not count.`)
    return this.#count(ask, charge, source, endMs)
  }

  /** Takes back what was admitted, because another rule denied. What the source has recorded stays. */
  giveBack(charge: Charge, { admitted }: Outcome): void {
    const known = this.#parts.subjects.get(charge, this.#parts.clock.now())
    // What is being written to the store stays spent.
    if (known === undefined || known.unreported - known.reporting < admitted) return
    if (known.share !== undefined) known.share.left += admitted
    known.unreported -= admitted
    known.used -= admitted
  }

  async #take(charge: Charge, source: Source, id: string, endMs: number): Promise<Outcome> {
    const { subjects, clock } = this.#parts
    const allowed = await source.take(charge, id, endMs)
    if (!allowed) return { allowed, admitted: 0, statuses: [this.#status(charge, 0, false)] }
    // The source has it anyway; it is written to the store as far as there is room to remember it.
    const known = subjects.getOrAdd(charge, clock.now())
    if (known !== undefined) {
      known.charge = charge
      known.unreported += charge.cost
      known.used += charge.cost
    }
    return { allowed, admitted: 0, statuses: [] }
  }

  /**
   * The source is asked once for a subject; what this process admits afterwards is added here, as the source may see it
   * late. What the store had counted before it failed is the least that was used, for the same reason.
   */
  async #count(ask: TakeAsk | PeekAsk, charge: Charge, source: Source, endMs: number): Promise<Outcome> {
    const { subjects, clock } = this.#parts
    const { amount } = charge.limits.limits[0]!
    const known = subjects.getOrAdd(charge, clock.now())
    if (known === undefined)
      throw new StoreError('full', `Too many subjects of ${charge.rule.name} wait for the store.`)
    if (known.share?.amount !== amount) {
      const counted = await source.count(charge, endMs)
      // The period that was counted may have ended meanwhile.
      if (subjects.get(charge, clock.now()) !== known) return this.#count(ask, charge, source, endMs)
      // Others that waited for the same count may have come first.
      if (known.share?.amount !== amount) {
        known.used = Math.max(counted, known.used)
        known.share = { left: Math.floor(Math.max(0, amount - known.used) / this.#parts.replicas()), amount }
      }
    }
    const { share } = known
    const left = Math.max(0, Math.min(share.left, amount - known.used))
    const allowed = left >= charge.cost
    if (allowed && ask.kind === 'take') {
      known.charge = charge
      share.left -= charge.cost
      known.unreported += charge.cost
      known.used += charge.cost
      return { allowed, admitted: charge.cost, statuses: [this.#status(charge, left - charge.cost, true)] }
    }
    return { allowed, admitted: 0, statuses: [this.#status(charge, left, allowed)] }
  }

  #status(charge: Charge, remaining: number, allowed: boolean): LimitStatus {
    const nowUs = this.#parts.clock.now()
    const limit = charge.limits.limits[0]!
    const { name, amount } = limit
    const resetMs = Math.ceil(periodOf(charge, nowUs).endMs - nowUs / 1000)
    const retryAfterMs = allowed ? 0 : charge.cost > amount ? Infinity : resetMs
    const status = {
      rule: charge.rule.name,
      name,
      amount,
      remaining,
      windowMs: windowMsOf(limit),
      resetMs,
      retryAfterMs,
    }
    return { ...status, period: periodOf(charge, nowUs).dates }
  }
}
