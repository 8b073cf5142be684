import type { Charge } from '../../core/engine/ask.ts'
import type { CompiledRule } from '../../policy/compiled-policy.ts'

/** A charge whose rule is known in full. */
export interface RuleCharge extends Charge {
  readonly rule: CompiledRule
}
