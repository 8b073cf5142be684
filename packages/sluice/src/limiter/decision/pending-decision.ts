import type { Clock } from '../../core/clock.ts'
import type { Answer, Charge, HoldRequest, TakeAsk } from '../../core/engine/ask.ts'
import type { Emitter } from '../../core/observe/emitter.ts'
import type { AnswerCallback } from '../../stores/callback-store.ts'
import type { DecidedEvent, LimiterEvents } from '../events.ts'
import type { Sample } from '../stats/sample.ts'
import type { Decision, ShadowDecision } from './decision.ts'
import { noShadow, toDecision } from './to-decision.ts'

/** Receives every decision, with how long it took by the clock. */
export interface DecisionWatch {
  readonly events: Emitter<LimiterEvents>
  readonly clock: Clock
  /** Chooses what is counted for reports. */
  readonly sample: Sample
}

/** A decision from the moment it is asked for until the store has answered: the ask and its callback in one object. */
export class PendingDecision implements TakeAsk, AnswerCallback {
  readonly kind = 'take'
  readonly charges: readonly Charge[]
  readonly copies = 1
  readonly hold: HoldRequest | undefined
  readonly #policyVersion: string
  readonly #watch: DecisionWatch
  readonly #startMs: number
  /** How many decisions it stands for in reports. */
  readonly #weight: number
  #resolve: ((decision: Decision) => void) | undefined
  #reject: ((error: unknown) => void) | undefined

  constructor(policyVersion: string, charges: readonly Charge[], hold: HoldRequest | undefined, watch: DecisionWatch) {
    this.charges = charges
    this.hold = hold
    this.#policyVersion = policyVersion
    this.#watch = watch
    this.#weight = watch.sample.next()
    // The time, if somebody will want to know how long the decision took.
    this.#startMs = this.#weight > 0 || watch.events.has('decided') ? watch.clock.monotonic() : 0
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

  /** Makes the decision of an answer, and announces it. */
  conclude(answer: Answer, shadow: readonly ShadowDecision[]): Decision {
    const { charges } = this
    const { events, clock, sample } = this.#watch
    const decision = toDecision(charges, answer, this.#policyVersion, shadow)
    if (this.#weight > 0 || events.has('decided')) {
      const tookMs = this.#startMs === 0 ? 0 : clock.monotonic() - this.#startMs
      const decided = new Decided(decision, charges, tookMs)
      if (this.#weight > 0) sample.count(decided, this.#weight)
      events.emit('decided', decided)
    }
    return decision
  }
}

/** The event of one decision. What few listeners look at is made when they do. */
export class Decided implements DecidedEvent {
  readonly decision: Decision
  readonly tookMs: number
  readonly #charges: readonly Charge[]

  constructor(decision: Decision, charges: readonly Charge[], tookMs: number) {
    this.decision = decision
    this.tookMs = tookMs
    this.#charges = charges
  }

  get rules(): readonly string[] {
    return this.#charges.map(({ rule }) => rule.name)
  }

  get subjects(): readonly string[] {
    return this.#charges.map(({ rule, subject }) => rule.prefix + subject)
  }

  get cost(): number {
    return this.#charges[0]?.cost ?? 0
  }
}
