import type { Decision } from '../../shapes/decisions.ts'
import type { Style } from '../terminal/style.ts'
import { safe } from '../terminal/text.ts'
import { limitTable, retryText } from './limits.ts'

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
