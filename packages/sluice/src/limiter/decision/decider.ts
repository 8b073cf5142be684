import type { Charge, HoldRequest, TakeAsk } from '../../core/engine/ask.ts'
import type { CompiledPolicy } from '../../policy/compiled-policy.ts'
import type { CallbackStore } from '../../stores/callback-store.ts'
import type { Admission } from '../limiter.ts'
import { type Charges, isCounted, needsPermit, type Refusal } from './charges.ts'
import type { Decision, ShadowDecision } from './decision.ts'
import { Decided, type DecisionWatch, PendingDecision } from './pending-decision.ts'
import { noShadow, promiseDecision, refused, toDecision, toShadow, unlimited, unmatched } from './to-decision.ts'

/**
 * Puts charges to a store and makes decisions of its answers. Everything that decides goes through here, and is
 * announced here.
 */
export class Decider {
  readonly #store: CallbackStore
  readonly #watch: DecisionWatch
  readonly #deadlineMs: number
  readonly #inProcess: boolean

  constructor(store: CallbackStore, watch: DecisionWatch, deadlineMs: number, inProcess: boolean) {
    this.#store = store
    this.#watch = watch
    this.#deadlineMs = deadlineMs
    this.#inProcess = inProcess
  }

  /** Decides without holding anything. */
  decide<T>(policy: CompiledPolicy, charges: Charges, resultOf: (decision: Decision) => T): Promise<T> {
    const { enforced, shadow, refusedBy } = charges
    if (refusedBy !== undefined) return Promise.resolve(resultOf(this.refuse(policy, refusedBy)))
    if (shadow.length > 0) return this.withShadow(policy, charges).then(resultOf)
    if (enforced.length === 0) return Promise.resolve(resultOf(this.#pass(policy, charges.unlimited, noShadow)))
    return this.submit(policy, enforced, resultOf)
  }

  /** Decides on one charge without holding anything. */
  take(policy: CompiledPolicy, charge: Charge): Promise<Decision> {
    const { events, sample } = this.#watch
    // Nothing has to be kept for an answer that is there at once, unless somebody wants to know of it.
    if (!this.#inProcess || events.has('decided') || !sample.skips()) return this.submit(policy, [charge], asItIs)
    const answer = this.#store.decide(takeOf(charge, undefined), this.#deadlineMs)
    return answer instanceof Promise
      ? answer.then((later) => toDecision([charge], later, policy.version))
      : promiseDecision(charge, answer, policy.version)
  }

  /** The result is made before the promise resolves: a promise for each step would cost as much as the decision. */
  submit<T>(policy: CompiledPolicy, charges: readonly Charge[], resultOf: (decision: Decision) => T): Promise<T> {
    const pending = new PendingDecision(policy.version, charges, undefined, this.#watch)
    const answer = this.#store.submit(pending, this.#deadlineMs, pending)
    return answer === undefined
      ? pending.promise(resultOf)
      : Promise.resolve(resultOf(pending.conclude(answer, noShadow)))
  }

  /** Refuses without a store. */
  refuse(policy: CompiledPolicy, refusal: Refusal): Decision {
    return this.announce(refused(refusal, policy.version), refusal.charge ? [refusal.charge] : [])
  }

  /** Lets pass what nothing has to be counted for. */
  #pass(policy: CompiledPolicy, passed: readonly Charge[], shadow: readonly ShadowDecision[]): Decision {
    const [first] = passed
    if (!first) return this.announce(unmatched(policy.version, shadow), passed)
    return this.announce(unlimited(first.rule.name, policy.version, shadow), passed)
  }

  /** Announces a decision; without charges, one that no store took part in. */
  announce(decision: Decision, charges: readonly Charge[] = [], tookMs = 0): Decision {
    const { events, sample } = this.#watch
    const weight = sample.next()
    if (weight > 0) sample.count(new Decided(decision, charges, tookMs), weight)
    if (events.has('decided')) events.emit('decided', new Decided(decision, charges, tookMs))
    return decision
  }

  /**
   * Shadow rules are asked beside the others, each for itself: they count as if they alone decided, and deny nothing.
   */
  async withShadow(
    policy: CompiledPolicy,
    { enforced, shadow: watched, unlimited }: Charges,
    hold?: HoldRequest,
  ): Promise<Decision> {
    const pending = new PendingDecision(policy.version, enforced, hold, this.#watch)
    const real = enforced.length === 0 ? undefined : this.#store.decide(pending, this.#deadlineMs)
    const shadow = await Promise.all(
      watched.map(async (charge) => {
        if (!isCounted(charge)) return toShadow(charge, undefined)
        const ask = takeOf(charge, hold?.permitsOnly === true && !needsPermit(charge) ? undefined : hold)
        return toShadow(charge, await this.#store.decide(ask, this.#deadlineMs))
      }),
    )
    return real === undefined ? this.#pass(policy, unlimited, shadow) : pending.conclude(await real, shadow)
  }
}

function takeOf(charge: Charge, hold: HoldRequest | undefined): TakeAsk {
  return { kind: 'take', charges: [charge], copies: 1, hold }
}

/** For calls without a hold: the result is the decision. */
export function asItIs(decision: Decision): Decision {
  return decision
}

/** For admissions that take no permit. */
export function withoutHold(decision: Decision): Admission {
  return { decision, hold: undefined }
}
