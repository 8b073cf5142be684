import type { Decision, Limit } from '../../shapes/decisions.ts'
import { bar, count, duration } from '../terminal/numbers.ts'
import type { Style } from '../terminal/style.ts'
import { columns, safe } from '../terminal/text.ts'

const reasons: Readonly<Record<Decision['reason'], string>> = {
  allowed: '',
  quota: 'a limit is used up',
  blocked: 'the key is blocked',
  unavailable: 'the store is away and the rule is closed',
  'missing-key': "the request lacks what the rule's key is made of",
  forbidden: 'the policy denies this key',
}

/** The verdict in one line. */
export function decisionHead(decision: Decision, style: Style): string {
  const by = decision.rule === null ? '' : ` by rule ${safe(decision.rule)}`
  const degraded = decision.degraded
    ? style.warn(` (degraded: the store failed, ${decision.failure ?? 'unknown'})`)
    : ''
  if (decision.allowed) {
    const none = decision.rule === null && decision.limits.length === 0 ? ' (no rule applies)' : ''
    return `${style.good('allowed')}${by}${none}${degraded}`
  }
  const why =
    decision.reason === 'quota' && !Number.isFinite(decision.retryAfterMs ?? Number.POSITIVE_INFINITY)
      ? 'it costs more than a limit ever allows'
      : `${reasons[decision.reason]}, ${retryText(decision.retryAfterMs)}`
  return `${style.bad('denied')}${by}: ${why}${degraded}`
}

/** The verdict, and every limit that was looked at. */
export function decisionLines(decision: Decision, style: Style): string[] {
  const severalRules = new Set(decision.limits.map(({ rule }) => rule)).size > 1
  const limits = severalRules
    ? decision.limits.map((limit) => ({ ...limit, name: `${limit.rule} ${limit.name}` }))
    : decision.limits
  const shadow = decision.shadow.map(({ rule, allowed }) => {
    return `  ${style.faint('shadow')} ${safe(rule)} would have ${allowed ? style.good('allowed') : style.bad('denied')} it`
  })
  return [decisionHead(decision, style), ...limitTable(limits, style).map((line) => `  ${line}`), ...shadow]
}

/** Limits as lines: how much is left of each, and when it is whole again. */
export function limitTable(limits: readonly Limit[], style: Style): string[] {
  const rows = limits.map(({ name, amount, remaining, windowMs, resetMs, retryAfterMs, pace, block, share: of }) => {
    if (block)
      return [style.bad('blocked'), '', '', style.faint(`for ${duration(windowMs)}`), `ends in ${duration(resetMs)}`]
    const share = amount === 0 ? 0 : Math.max(0, remaining) / (pace?.burst ?? amount)
    const paint = share === 0 ? style.bad : share < 0.2 ? style.warn : style.good
    const wait =
      retryAfterMs === null || retryAfterMs > 0
        ? style.bad(windowMs === 0 && retryAfterMs !== null ? 'passes when one ends' : retryText(retryAfterMs))
        : resetMs > 0
          ? `whole again in ${duration(resetMs)}`
          : style.faint('unused')
    const per = windowMs === 0 ? 'in flight' : `per ${duration(windowMs)}`
    return [
      safe(name),
      paint(bar(share, 12)),
      pace ? paceText(pace) : `${count(Math.max(0, remaining))} of ${count(amount)} left${of ? shareText(of) : ''}`,
      style.faint(per),
      wait,
    ]
  })
  return columns(rows)
}

/** Where on its curve a paced limit stands. */
function paceText({ planned, spent }: NonNullable<Limit['pace']>): string {
  const ahead = spent - planned
  const by = ahead === 0 ? 'on plan' : `${count(Math.abs(ahead))} ${ahead > 0 ? 'ahead' : 'behind'}`
  return `${count(spent)} spent, ${count(planned)} planned by now: ${by}`
}

function shareText({ guaranteed, spent }: NonNullable<Limit['share']>): string {
  return `; ${count(guaranteed)} guaranteed, ${count(spent)} spent`
}

/** When to come back, in words. */
export function retryText(retryAfterMs: number | null): string {
  return retryAfterMs === null || !Number.isFinite(retryAfterMs)
    ? 'can never pass'
    : `passes in ${duration(retryAfterMs)}`
}
