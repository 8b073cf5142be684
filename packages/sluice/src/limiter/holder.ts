import type { Clock } from '../core/clock.ts'
import type { CompiledPolicy, RuleCharge } from '../policy/compiled-policy.ts'
import type { Store } from '../stores/store.ts'
import type { Charger } from './charger.ts'
import { type Charges, isCounted, needsPermit } from './decision/charges.ts'
import type { Decider } from './decision/decider.ts'
import type { Decision } from './decision/decision.ts'
import { unitsAreFor } from './decision/units.ts'
import {
  checkId,
  defaultTtl,
  type Held,
  type HoldContext,
  holdHandle,
  nothing,
  readTtl,
  type Settlement,
  settleAsk,
} from './hold.ts'
import type { HoldHandle, HoldOptions } from './limiter.ts'
import type { LossCheck } from './loss-check.ts'
import { Renewals } from './renewals.ts'

interface HolderParts {
  readonly store: Pick<Store, 'decide'>
  readonly decider: Decider
  readonly charger: Charger
  readonly deadlineMs: number
  readonly losses: LossCheck | undefined
  readonly clock: Clock
}

/** Takes charges under an id, and makes the handle that ends or extends them. */
export class Holder {
  readonly #store: Pick<Store, 'decide'>
  readonly #decider: Decider
  readonly #charger: Charger
  readonly #deadlineMs: number
  readonly #clock: Clock
  readonly #renewals: Renewals
  readonly #losses: LossCheck | undefined

  constructor({ store, decider, charger, deadlineMs, losses, clock }: HolderParts) {
    this.#store = store
    this.#decider = decider
    this.#charger = charger
    this.#deadlineMs = deadlineMs
    this.#clock = clock
    this.#renewals = new Renewals(clock)
    this.#losses = losses
  }

  /** Nothing is renewed any more. */
  close(): void {
    this.#renewals.close()
    this.#losses?.close()
  }

  /** With `permitsOnly`, what is not a permit is spent permanently instead of held. */
  async hold(
    policy: CompiledPolicy,
    charges: Charges,
    options: HoldOptions = {},
    kind: 'reserve' | 'acquire',
    permitsOnly: boolean,
  ): Promise<HoldHandle> {
    const { enforced, shadow, refusedBy } = charges
    const context = this.#context(this.settlement(policy, charges), options, kind)
    const { id, ttlMs } = context
    const handleOf = (decision: Decision, held: Held): HoldHandle =>
      holdHandle(decision, held, decision.degraded ? { ...context, losses: undefined } : context)
    if (refusedBy !== undefined) return handleOf(this.#decider.refuse(policy, refusedBy), nothing)
    const decision = await this.#decider.withShadow(policy, charges, {
      id,
      ttlUs: ttlMs * 1000,
      kind,
      permitsOnly,
      isNew: options.id === undefined,
    })
    const heldOf = (all: readonly RuleCharge[]) => all.filter(permitsOnly ? needsPermit : isCounted)
    const held = { enforced: heldOf(enforced), shadow: heldOf(shadow) }
    if (!decision.allowed) this.#leave(held.shadow, id)
    if (!decision.degraded) return handleOf(decision, held)
    // While the store is away, only what this process counts by itself can be settled.
    const locals = held.enforced.filter(({ rule }) => rule.onStoreFailure === 'local')
    return handleOf(decision, decision.by === 'local' ? { enforced: locals, shadow: [] } : nothing)
  }

  /** The handle of a hold that was refused before it was asked for. */
  refused(options: HoldOptions, decision: Decision): HoldHandle {
    return holdHandle(decision, nothing, this.#context({ isFor: () => true, checkRule: () => {} }, options, 'reserve'))
  }

  #context(settlement: Settlement, options: HoldOptions, kind: 'reserve' | 'acquire'): HoldContext {
    return {
      ...{ id: options.id === undefined ? crypto.randomUUID() : checkId(options.id), kind, settlement },
      ...{ ttlMs: readTtl(options.ttl ?? defaultTtl), askedMs: this.#clock.monotonic(), clock: this.#clock },
      ...{ store: this.#store, withinMs: this.#deadlineMs },
      losses: this.#losses,
      renewals: options.renew === false ? undefined : this.#renewals,
    }
  }

  settlement(policy: CompiledPolicy, { enforced, shadow }: Charges): Settlement {
    return { isFor: unitsAreFor([...enforced, ...shadow]), checkRule: (name) => this.#charger.rule(policy, name) }
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
