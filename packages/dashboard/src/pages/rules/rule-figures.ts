import type { RuleLimit, RuleSummary } from '../../api/shapes.ts'
import { formatNumber } from '../../format/number.ts'

/** What a rule did in the last 15 minutes. Of a shadow rule, what it would have done. */
export interface RuleFigures {
  readonly decided: number
  readonly denied: number
  readonly shareDenied: number | undefined
}

/**
 * `denied` sorts by the share that the column shows, `denials` by their number. Shadow rules deny nothing: they come
 * last.
 */
export type RuleSort = 'denied' | 'denials' | 'decided' | 'policy'

export function figuresOf({ history, mode }: RuleSummary): RuleFigures {
  const sum = (of: 0 | 1 | 2): number => history.reduce((total, step) => total + step[of], 0)
  const denied = mode === 'shadow' ? sum(2) : sum(1)
  // A shadow rule is evaluated beside others, so its own total is not in the steps.
  const decided = mode === 'shadow' ? denied : sum(0) + denied
  return { decided, denied, shareDenied: decided === 0 ? undefined : denied / decided }
}

/** The share that a shadow rule would have denied since the daemon counts. */
export function shadowShare({ shadow }: RuleSummary): number | undefined {
  const all = shadow.allowed + shadow.denied
  return all === 0 ? undefined : shadow.denied / all
}

/** Rules in an order; those that are equal stay in the order of the policy, so that rows do not jump. */
export function sortedRules(rules: readonly RuleSummary[], sort: RuleSort): readonly RuleSummary[] {
  if (sort === 'policy') return rules
  const rank = (rule: RuleSummary): readonly number[] => {
    const { decided, denied, shareDenied } = figuresOf(rule)
    const isReal = rule.mode === 'shadow' ? 0 : 1
    if (sort === 'decided') return [isReal * decided, denied]
    // A rule that matched nothing comes after those that denied nothing, and before shadow rules.
    if (sort === 'denials') return [isReal * (denied + 1), decided]
    return isReal === 0 ? [-2, shadowShare(rule) ?? -1] : [shareDenied ?? -1, decided]
  }
  const ranked = rules.map((rule, i) => ({ rule, rank: rank(rule), i }))
  ranked.sort((a, b) => b.rank[0]! - a.rank[0]! || b.rank[1]! - a.rank[1]! || a.i - b.i)
  return ranked.map(({ rule }) => rule)
}

const periods = [
  { ms: 1000, name: 's' },
  { ms: 60_000, name: 'min' },
  { ms: 3_600_000, name: 'h' },
  { ms: 86_400_000, name: 'd' },
]

/** A limit in a few characters: 1,000/min, 20 per 5 s, 3 at once. */
export function limitWords({ algorithm, amount, periodMs, name }: RuleLimit): string {
  if (algorithm === 'concurrency') return `${formatNumber(amount)} at once`
  if (algorithm === 'calendar' || algorithm === 'pace') return `${formatNumber(amount)} ${name}`
  const whole = periods.find(({ ms }) => ms === periodMs)
  if (whole) return `${formatNumber(amount)}/${whole.name}`
  const unit = periods.findLast(({ ms }) => periodMs >= ms)
  return unit
    ? `${formatNumber(amount)} per ${formatNumber(periodMs / unit.ms)} ${unit.name}`
    : `${formatNumber(amount)} per ${periodMs} ms`
}
