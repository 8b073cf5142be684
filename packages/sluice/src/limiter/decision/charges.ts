import type { TimeSource } from '../../core/clock.ts'
import type { ChargeTerms } from '../../core/engine/ask.ts'
import { changeCharge } from '../../core/engine/charge.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import { encodeKey, type Key } from '../../core/key.ts'
import type { CompiledPolicy, CompiledRule, MatchedRule, RuleCharge } from '../../policy/compiled-policy.ts'
import { isLimitsText } from '../../policy/lookup/is-limits-text.ts'
import type { RequestView } from '../../policy/request-view.ts'
import type { Subject, TakeOptions } from '../limiter.ts'
import { checkCost, unitsAreFor } from './units.ts'

/** What a key or a request is charged under one version of a policy. */
export interface Charges {
  /** Decided as one. */
  readonly enforced: readonly RuleCharge[]
  /** Watched, each for itself. */
  readonly shadow: readonly RuleCharge[]
  /** Of enforced rules: what passes without being counted. */
  readonly unlimited: readonly RuleCharge[]
  readonly refusedBy: Refusal | undefined
}

/** A rule that refuses without counting. */
export interface Refusal {
  readonly rule: string
  readonly reason: 'missing-key' | 'forbidden'
  /** What would have been charged, where the rule has a key for it. */
  readonly charge: RuleCharge | undefined
}

/**
 * A charge of a key that is a text. Encoding the key would cost as much as a decision in memory, so that it is left to
 * whoever does not find the subject by its text.
 */
class TextCharge implements RuleCharge {
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

const none: readonly RuleCharge[] = Object.freeze([])

/** Charges a key to a rule. */
export function chargeTo(
  rule: CompiledRule,
  key: Key,
  options: TakeOptions | undefined,
  clock: TimeSource,
): RuleCharge {
  const cost = costOf(options)
  const subject = encodeKey(key)
  const limits = rule.limitsFor(subject, namedTier(options?.tier), rule.dated ? nowMs(clock) : 0, options?.class)
  return { rule, subject, limits, cost }
}

/** Charges a key to a rule for a take that holds nothing. */
export function takeCharge(
  rule: CompiledRule,
  key: Key,
  options: TakeOptions | undefined,
  clock: TimeSource,
): RuleCharge {
  if (typeof key !== 'string' || rule.limitsVary) return chargeTo(rule, key, options, clock)
  return new TextCharge(rule, key, rule.limitsFor(key, options?.tier, 0), costOf(options))
}

/** The name of a tier. Limits as text, which only a lookup says, are none when a caller sends them. */
function namedTier(tier: string | undefined): string | undefined {
  return tier !== undefined && isLimitsText(tier) ? '' : tier
}

/** Charges a request to all rules that match it, or to one of them. */
export function chargesOfRequest(
  policy: CompiledPolicy,
  request: RequestView,
  cost: number | undefined,
  clock: TimeSource,
  only?: string,
): Charges {
  const { rules, refusedBy } = policy.match(request, policy.dated ? nowMs(clock) : 0, only)
  // What a rule matched is a charge already, unless the caller knows the cost.
  const charges = cost === undefined ? rules : withCost(rules, checkCost(cost, 'cost'))
  // Nothing is charged to a request that is refused.
  if (refusedBy) return { ...noCharges, refusedBy: { rule: refusedBy.name, reason: 'missing-key', charge: undefined } }
  const all = rules.every(({ rule }) => rule.mode === 'enforce')
    ? { enforced: charges, shadow: none, unlimited: none, refusedBy: undefined }
    : byMode(charges)
  return policy.mayBeFixed ? withoutFixed(all) : all
}

function byMode(charges: readonly RuleCharge[]): Charges {
  const of = (mode: string): RuleCharge[] => charges.filter(({ rule }) => rule.mode === mode)
  return { enforced: of('enforce'), shadow: of('shadow'), unlimited: none, refusedBy: undefined }
}

/** Takes out of what is enforced whatever needs no store. */
function withoutFixed({ enforced, shadow }: Charges): Charges {
  const denied = enforced.find(({ limits }) => limits.fixed === 'deny')
  if (denied) return { ...noCharges, refusedBy: { rule: denied.rule.name, reason: 'forbidden', charge: denied } }
  const unlimited = enforced.filter(({ limits }) => limits.fixed === 'unlimited')
  return { enforced: enforced.filter(isCounted), shadow, unlimited, refusedBy: undefined }
}

/** The charges of what waits for its turn: to be denied meanwhile counts for no block. */
export function whileWaiting(charges: Charges): Charges {
  if (charges.enforced.every(({ limits }) => limits.waiting === undefined)) return charges
  const enforced = charges.enforced.map((charge) =>
    charge.limits.waiting === undefined ? charge : changeCharge(charge, { limits: charge.limits.waiting }),
  )
  return { ...charges, enforced }
}

/** Whether a charge needs a store. */
export function isCounted({ limits }: ChargeTerms): boolean {
  return limits.fixed === undefined
}

/** What a request or a key is charged when its rule was dropped. */
export const noCharges: Charges = Object.freeze({ enforced: none, shadow: none, unlimited: none, refusedBy: undefined })

/** Charges a key to a rule; nothing is charged to a rule that a newer version of the policy has dropped. */
export function chargesOfKey(
  rule: CompiledRule | undefined,
  key: Key,
  options: TakeOptions | undefined,
  clock: TimeSource,
): Charges {
  if (rule === undefined) {
    encodeKey(key)
    return noCharges
  }
  const charge = chargeTo(rule, key, options, clock)
  const watched = rule.mode === 'shadow'
  const charges = watched ? { ...noCharges, shadow: [charge] } : { ...noCharges, enforced: [charge] }
  return rule.mayBeFixed ? withoutFixed(charges) : charges
}

/** Whether a charge needs a permit of a concurrency limit. */
export function needsPermit({ limits }: ChargeTerms): boolean {
  return limits.needsHold
}

export function isRequest(subject: Subject): subject is RequestView {
  return typeof subject === 'object' && subject !== null && !Array.isArray(subject)
}

function withCost(rules: readonly MatchedRule[], cost: number): RuleCharge[] {
  const isFor = unitsAreFor(rules)
  return rules.map((match) => {
    const { rule, subject, limits } = match
    return { rule, subject, limits, cost: isFor(match) ? cost : match.cost }
  })
}

function costOf(options: TakeOptions | undefined): number {
  return options?.cost === undefined ? 1 : checkCost(options.cost, 'cost')
}

function nowMs(clock: TimeSource): number {
  return clock.now() / 1000
}
