import type { Answer, Ask, Charge } from '../core/ask.ts'
import { memoryStore } from './memory/memory-store.ts'
import { shareOf } from './share.ts'
import type { Store } from './store.ts'

/** Most subjects whose local usage is remembered for the report after an outage. */
const maxReported = 100_000
/** How many reports are under way at once, so that a recovering store is not flooded. */
const reportsAtOnce = 256

/**
 * Decides in process while the store is away, on this replica's share of the limits, and reports what it admitted when the store is
 * back, so that an outage is not a free window.
 */
export class LocalUsage {
  #memory = memoryStore({ maxSubjects: maxReported })
  readonly #admitted = new Map<string, { readonly charge: Charge; readonly replicas: number }>()
  #reporting = false

  decide(ask: Ask & { charges: readonly Charge[] }, charges: readonly Charge[], replicas: number): Answer {
    const answer = this.#memory.decide({ ...ask, charges: charges.map((charge) => shareOf(charge, replicas)) } as Ask, 0) as Answer
    if (answer.allowed && ask.kind === 'take') {
      for (const charge of charges) {
        const key = charge.rule.prefix + charge.subject
        if (this.#admitted.size < maxReported || this.#admitted.has(key)) this.#admitted.set(key, { charge, replicas })
      }
    }
    return answer
  }

  /** Whether something is waiting to be reported. */
  get isEmpty(): boolean {
    return this.#admitted.size === 0
  }

  /** Tells the store what was admitted without it. What cannot be told now stays for the next time. */
  async report(store: Store, withinMs: number): Promise<void> {
    if (this.#reporting) return
    this.#reporting = true
    try {
      while (this.#admitted.size > 0) {
        const some = [...this.#admitted].slice(0, reportsAtOnce)
        await Promise.all(some.map(([key, { charge, replicas }]) => this.#reportOne(key, charge, replicas, store, withinMs)))
      }
    } catch {
      // The store went away again.
    } finally {
      this.#reporting = false
    }
  }

  async #reportOne(key: string, charge: Charge, replicas: number, store: Store, withinMs: number): Promise<void> {
    const share = shareOf(charge, replicas)
    const local = (await this.#memory.decide({ kind: 'peek', charges: [share] }, 0)) as Answer
    const units = share.limits.limits.map((limit, l) => Math.max(0, limit.burst - local.statuses[0]![l]!.remaining))
    if (units.some((spent) => spent > 0)) await store.decide({ kind: 'debit', charges: [charge], units }, withinMs)
    this.#admitted.delete(key)
    this.#memory.decide({ kind: 'reset', charges: [share] }, 0)
  }
}
