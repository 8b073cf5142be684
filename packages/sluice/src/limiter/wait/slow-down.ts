import type { Clock } from '../../core/clock.ts'
import type { LimitStatus } from '../../core/engine/ask.ts'
import type { RuleCharge } from '../../policy/compiled-policy.ts'
import { delayMsOf } from '../../policy/rule/delay-spec.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { Store } from '../../stores/store.ts'
import type { Charges } from '../decision/charges.ts'
import type { Decision } from '../decision/decision.ts'

export interface SlowDownParts {
  readonly store: Pick<Store, 'decide'>
  readonly deadlineMs: number
  readonly maxWaiting: number
  readonly clock: Clock
}

/**
 * Slows down what rules with `delay` let pass. What is spent is spent first, so that nothing is in flight meanwhile; a
 * permit is taken only after the delay, which a peek then says.
 */
export class SlowDown {
  readonly #parts: SlowDownParts
  #count = 0
  /** What is asked for and not taken yet, in units by subject: a peek does not count it. */
  readonly #coming = new Map<string, number>()

  constructor(parts: SlowDownParts) {
    this.#parts = parts
  }

  /** For what takes a permit or a hold: waits before it is taken. */
  async before(charges: Charges, signal: AbortSignal | undefined): Promise<void> {
    const enforced = charges.enforced.filter(({ rule }) => rule.delay !== undefined)
    if (enforced.length === 0) return
    const { store, deadlineMs } = this.#parts
    const coming = new Map(enforced.map((charge) => [charge, this.#come(charge, charge.cost)]))
    try {
      const { allowed, statuses } = await store.decide({ kind: 'peek', charges: enforced }, deadlineMs)
      if (allowed) await this.#sleep(delayMs(charges, statuses.flat(), coming), signal)
    } finally {
      for (const charge of enforced) this.#come(charge, -charge.cost)
    }
  }

  #come({ rule, subject }: RuleCharge, units: number): number {
    const name = rule.prefix + subject
    const coming = (this.#coming.get(name) ?? 0) + units
    if (coming > 0) this.#coming.set(name, coming)
    else this.#coming.delete(name)
    return coming
  }

  /** For what was spent: waits before the caller goes on. */
  async after(charges: Charges, decision: Decision, signal: AbortSignal | undefined): Promise<Decision> {
    if (decision.allowed) await this.#sleep(delayMs(charges, decision.limits), signal)
    return decision
  }

  /** Beyond so many, they pass at once: the limit denies what is too much. */
  async #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const { clock, maxWaiting } = this.#parts
    if (ms === 0 || this.#count >= maxWaiting) return
    this.#count += 1
    try {
      await sleep(ms, clock, signal)
    } finally {
      this.#count -= 1
    }
  }
}

/** The longest delay of the rules that are charged, by what is used of the first limit of each, and what is coming. */
function delayMs(
  { enforced }: Charges,
  statuses: readonly LimitStatus[],
  coming?: ReadonlyMap<RuleCharge, number>,
): number {
  let ms = 0
  for (const charge of enforced) {
    const { rule, limits } = charge
    const limit = limits.limits[0]
    if (rule.delay === undefined || limit === undefined) continue
    const status = statuses.find((each) => each.rule === rule.name && each.name === limit.name)
    if (status !== undefined)
      ms = Math.max(ms, delayMsOf(rule.delay, limit.burst - status.remaining + (coming?.get(charge) ?? 0)))
  }
  return ms
}
