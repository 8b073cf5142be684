import type { Charge } from '../../core/engine/ask.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import { encodeKey } from '../../core/key.ts'
import type { CompiledRule } from '../../policy/compiled-policy.ts'

/** A charge whose rule is known in full. */
export interface RuleCharge extends Charge {
  readonly rule: CompiledRule
}

/**
 * A charge of a key that is a text. Encoding the key would cost as much as a decision in memory, so that it is left to
 * whoever does not find the subject by its text.
 */
export class TextCharge implements RuleCharge {
  readonly rule: CompiledRule
  readonly text: string
  readonly limits: LimitSet
  readonly cost: number
  #subject: string | undefined

  constructor(rule: CompiledRule, text: string, limits: LimitSet, cost: number) {
    this.rule = rule
    this.text = text
    this.limits = limits
    this.cost = cost
  }

  get subject(): string {
    this.#subject ??= encodeKey(this.text)
    return this.#subject
  }
}
