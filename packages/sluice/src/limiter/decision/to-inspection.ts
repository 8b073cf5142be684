import type { Answer } from '../../core/engine/ask.ts'
import type { Inspection } from '../limiter.ts'
import type { RuleCharge } from './rule-charge.ts'

/** What a store knows about one subject, from a peek. */
export function toInspection({ rule, subject }: RuleCharge, answer: Answer): Inspection {
  const holds = (answer.holds?.[0] ?? []).map(({ id, cost, expiresUs }) => ({
    id,
    cost,
    expiresInMs: Math.ceil((expiresUs - answer.nowUs) / 1000),
  }))
  return { key: rule.prefix + subject, rule: rule.name, limits: answer.statuses[0]!, holds }
}
