import type { Charge } from '../../core/engine/ask.ts'
import type { DecidedEvent } from '../events.ts'
import type { Decision } from './decision.ts'

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
