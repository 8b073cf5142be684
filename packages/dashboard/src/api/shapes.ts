/** The answers of the API. Only types: nothing of the server gets into the page. */
export type {
  ExplainedRule,
  Explanation,
  Inspection,
  Limit,
  LimitsSpec,
} from '../../../server/src/http/shapes/decisions.ts'
export type {
  Denial,
  Overview,
  RuleDetails,
  RuleLimit,
  RuleSummary,
  Rules,
  Step,
} from '../../../server/src/http/shapes/page.ts'
export type { AuditEntry, Policy } from '../../../server/src/http/shapes/policy.ts'
export type { HotKey } from '../../../server/src/http/shapes/stats.ts'
