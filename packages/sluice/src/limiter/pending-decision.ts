import type { Answer, Charge, HoldRequest, TakeAsk } from '../core/ask.ts'
import type { Asker } from '../stores/asker.ts'
import { noShadow, toDecision } from './decide.ts'
import type { Decision, ShadowDecision } from './decision.ts'
import type { Emitter } from './emitter.ts'

/** A decision from the moment it is asked for until the store has answered: what is asked, and who asks. */
export class PendingDecision implements TakeAsk, Asker {
  readonly kind = 'take'
  readonly charges: readonly Charge[]
  readonly copies = 1
  readonly hold: HoldRequest | undefined
  readonly #policyVersion: string
  readonly #events: Emitter
  readonly #startMs: number
  #resolve: ((decision: Decision) => void) | undefined
  #reject: ((error: unknown) => void) | undefined

  constructor(policyVersion: string, charges: readonly Charge[], hold: HoldRequest | undefined, events: Emitter) {
    this.charges = charges
    this.hold = hold
    this.#policyVersion = policyVersion
    this.#events = events
    this.#startMs = events.watchesDecisions ? performance.now() : 0
  }

  /** Waits for what the store will answer; asked for only when it did not at once. */
  promise(): Promise<Decision> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
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
    const decision = toDecision(charges, answer, this.#policyVersion, shadow)
    if (this.#events.watchesDecisions) {
      this.#events.emit('decision', {
        decision,
        subjects: charges.map((charge) => charge.rule.prefix + charge.subject),
        cost: charges[0]?.cost ?? 0,
        tookMs: this.#startMs === 0 ? 0 : performance.now() - this.#startMs,
      })
    }
    return decision
  }
}
