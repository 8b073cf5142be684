import type { Clock } from '../../core/clock.ts'
import type { Answer, Charge, HoldRequest, TakeAsk, TextTake } from '../../core/engine/ask.ts'
import type { Emitter } from '../../core/observe/emitter.ts'
import type { Waiter } from '../../stores/callback-store.ts'
import type { LimiterEvents } from '../events.ts'
import type { Decision, ShadowDecision } from './decision.ts'
import { noShadow, toDecision } from './to-decision.ts'

/** Receives every decision, with how long it took by the clock. */
export interface DecisionWatch {
  readonly events: Emitter<LimiterEvents>
  readonly clock: Clock
}

/** A decision from the moment it is asked for until the store has answered: the ask and its waiter in one object. */
export class PendingDecision implements TakeAsk, Waiter {
  readonly kind = 'take'
  readonly charges: readonly Charge[]
  readonly copies = 1
  readonly hold: HoldRequest | undefined
  readonly #policyVersion: string
  readonly #watch: DecisionWatch
  readonly #startMs: number
  #resolve: ((decision: Decision) => void) | undefined
  #reject: ((error: unknown) => void) | undefined

  constructor(policyVersion: string, charges: readonly Charge[], hold: HoldRequest | undefined, watch: DecisionWatch) {
    this.charges = charges
    this.hold = hold
    this.#policyVersion = policyVersion
    this.#watch = watch
    this.#startMs = startOf(watch)
  }

  /** Waits for what the store will answer; asked for only when it did not at once. */
  promise<T>(resultOf: (decision: Decision) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#resolve = (decision) => resolve(resultOf(decision))
      this.#reject = reject
    })
  }

  answered(answer: Answer): void {
    this.#resolve!(this.conclude(answer, noShadow))
  }

  failed(error: unknown): void {
    this.#reject!(error)
  }

  conclude(answer: Answer, shadow: readonly ShadowDecision[]): Decision {
    return conclude(this.charges, answer, this.#policyVersion, shadow, this.#watch, this.#startMs)
  }
}

/** The time, if a listener will want to know how long a decision took. */
export function startOf({ events, clock }: DecisionWatch): number {
  return events.has('decided') ? clock.monotonic() : 0
}

/** Makes the decision of an answer, and announces it. */
export function conclude(
  charges: readonly (Charge | TextTake)[],
  answer: Answer,
  policyVersion: string,
  shadow: readonly ShadowDecision[],
  { events, clock }: DecisionWatch,
  startMs: number,
): Decision {
  const decision = toDecision(charges, answer, policyVersion, shadow)
  if (events.has('decided')) {
    events.emit('decided', {
      decision,
      // A take by text is only answered where the text is the encoded key.
      subjects: charges.map((charge) => charge.rule.prefix + ('text' in charge ? charge.text : charge.subject)),
      cost: charges[0]?.cost ?? 0,
      tookMs: startMs === 0 ? 0 : clock.monotonic() - startMs,
    })
  }
  return decision
}
