import type { Charge } from '../../core/engine/ask.ts'
import { SluiceError, show } from '../../core/errors.ts'
import { encodeKey, type Key } from '../../core/key.ts'
import type { CompiledPolicy, CompiledRule, MatchedRule } from '../../policy/compile/compiled-policy.ts'
import type { RequestView } from '../../policy/match/request-view.ts'
import type { Subject, TakeOptions } from '../limiter.ts'
import { checkCost } from './cost.ts'

/** A charge whose rule is known in full. */
export interface RuleCharge extends Charge {
  readonly rule: CompiledRule
}

/** What a key or a request is charged under one version of a policy. */
export interface Charges {
  /** Decided as one. */
  readonly enforced: readonly RuleCharge[]
  /** Watched, each for itself. */
  readonly shadow: readonly RuleCharge[]
  /** The rule that refuses the request because it lacks the rule's key. */
  readonly refusedBy: string | undefined
}

const none: readonly RuleCharge[] = Object.freeze([])

/** Charges a key to the rule that is named, or meant. */
export function chargeFor(policy: CompiledPolicy, key: Key, options: TakeOptions | undefined): RuleCharge {
  return chargeAs(policy, encodeKey(key), options)
}

/** Charges a subject to the rule that is named, or meant. */
export function chargeAs(policy: CompiledPolicy, subject: string, options: TakeOptions | undefined): RuleCharge {
  const rule = findRule(policy, options?.rule)
  const cost = options?.cost === undefined ? 1 : checkCost(options.cost, 'cost')
  return { rule, subject, limits: rule.limitsFor(subject, options?.tier, rule.dated ? Date.now() : 0), cost }
}

/** Charges a request to all rules that match it. */
export function chargesOfRequest(policy: CompiledPolicy, request: RequestView, cost: number | undefined): Charges {
  const { rules, refusedBy } = policy.match(request, policy.dated ? Date.now() : 0)
  // What a rule matched is a charge already, unless the caller knows the cost.
  const charges = cost === undefined ? rules : rules.map((match) => toCharge(match, cost))
  const refused = refusedBy?.name
  if (rules.every(({ rule }) => rule.mode === 'enforce')) return { enforced: charges, shadow: none, refusedBy: refused }
  const of = (mode: string): RuleCharge[] => charges.filter(({ rule }) => rule.mode === mode)
  return { enforced: of('enforce'), shadow: of('shadow'), refusedBy: refused }
}

/** Charges whatever it is given. */
export function chargesOf(policy: CompiledPolicy, subject: Subject, options: TakeOptions | undefined): Charges {
  if (isRequest(subject)) return chargesOfRequest(policy, subject, options?.cost)
  const charge = chargeFor(policy, subject, options)
  const watched = charge.rule.mode === 'shadow'
  return { enforced: watched ? none : [charge], shadow: watched ? [charge] : none, refusedBy: undefined }
}

function isRequest(subject: Subject): subject is RequestView {
  return typeof subject === 'object' && subject !== null && !Array.isArray(subject)
}

function toCharge({ rule, subject, limits }: MatchedRule, cost: number): RuleCharge {
  return { rule, subject, limits, cost: checkCost(cost, 'cost') }
}

function findRule(policy: CompiledPolicy, name: string | undefined): CompiledRule {
  const { rules } = policy
  if (name === undefined) {
    // The only rule there is, or the only one that is meant for keys built by the caller.
    const candidates = rules.length === 1 ? rules : rules.filter((rule) => !rule.keyed)
    if (candidates.length === 1) return candidates[0]!
    const example = show(rules[0]?.name ?? 'per-user')
    throw new SluiceError(
      'SLUICE_UNKNOWN_RULE',
      `The policy has ${rules.length} rules; name one, such as { rule: ${example} }.`,
    )
  }
  const rule = policy.rule(name)
  if (rule !== undefined) return rule
  const known = rules.map((other) => other.name).join(', ')
  throw new SluiceError('SLUICE_UNKNOWN_RULE', `The policy has no rule ${show(name)}; it has ${known}.`)
}
