import type { CompiledPolicy } from '../policy/compiled-policy.ts'
import type { CallbackStore } from '../stores/callback-store.ts'
import { type Charges, needsPermit } from './decision/charges.ts'
import type { Decider } from './decision/decider.ts'
import type { Decision } from './decision/decision.ts'
import type { RuleCharge } from './decision/rule-charge.ts'
import type { RuleNames } from './decision/rule-names.ts'
import { refused } from './decision/to-decision.ts'
import { unitsAreFor } from './decision/units.ts'
import { checkId, defaultTtl, type Held, holdHandle, nothing, readTtl, type Settlement, settleAsk } from './hold.ts'
import type { HoldHandle, HoldOptions } from './limiter.ts'

/** Takes charges under an id, and makes the handle that ends or extends them. */
export class Holder {
  readonly #store: CallbackStore
  readonly #decider: Decider
  readonly #names: RuleNames
  readonly #deadlineMs: number

  constructor(store: CallbackStore, decider: Decider, names: RuleNames, deadlineMs: number) {
    this.#store = store
    this.#decider = decider
    this.#names = names
    this.#deadlineMs = deadlineMs
  }

  /** With `permitsOnly`, what is not a permit is spent permanently instead of held. */
  async hold(
    policy: CompiledPolicy,
    charges: Charges,
    options: HoldOptions = {},
    kind: 'reserve' | 'acquire',
    permitsOnly: boolean,
  ): Promise<HoldHandle> {
    const id = options.id === undefined ? crypto.randomUUID() : checkId(options.id)
    const ttlMs = readTtl(options.ttl ?? defaultTtl)
    const { enforced, shadow, refusedBy } = charges
    const handleOf = (decision: Decision, held: Held): HoldHandle =>
      holdHandle(id, decision, held, this.settlement(policy, charges), ttlMs, this.#store, this.#deadlineMs, kind)
    if (refusedBy !== undefined) {
      const decision = this.#decider.announce(refused(refusedBy, policy.version))
      return handleOf(decision, nothing)
    }
    const decision = await this.#decider.withShadow(policy, enforced, shadow, {
      id,
      ttlUs: ttlMs * 1000,
      kind,
      permitsOnly,
      isNew: options.id === undefined,
    })
    const heldOf = (all: readonly RuleCharge[]) => (permitsOnly ? all.filter(needsPermit) : all)
    const held = { enforced: heldOf(enforced), shadow: heldOf(shadow) }
    if (!decision.allowed) this.#leave(held.shadow, id)
    return handleOf(decision, decision.degraded ? nothing : held)
  }

  settlement(policy: CompiledPolicy, { enforced, shadow }: Charges): Settlement {
    return { isFor: unitsAreFor([...enforced, ...shadow]), checkRule: (name) => this.#names.find(policy, name) }
  }

  /**
   * Ends what shadow rules hold when the request was denied by others, as nobody else will: permits are given back, and
   * what else they counted stays counted, as it does for `check`.
   */
  #leave(held: readonly RuleCharge[], id: string): void {
    if (held.length === 0) return
    const ask = settleAsk(held, id, (charge) => (needsPermit(charge) ? 0 : charge.cost))
    // If the store cannot be reached, they expire; the failure was already reported as an event.
    Promise.resolve(this.#store.decide(ask, this.#deadlineMs)).catch(() => {})
  }
}
