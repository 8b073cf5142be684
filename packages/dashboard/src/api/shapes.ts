/** The answers of the API. Only types: nothing of the server gets into the page. */
export type {
  ExplainedRule,
  Explanation,
  Inspection,
  Limit,
  LimitsSpec,
} from '../../../server/src/http/shapes/decisions.ts'
export type { TextRange } from '../../../server/src/http/shapes/operating.ts'
export type {
  Denial,
  Denials,
  Overview,
  RuleDetails,
  RuleLimit,
  RuleSummary,
  Rules,
  Step,
} from '../../../server/src/http/shapes/page.ts'
export type {
  AuditEntry,
  Difference,
  Policy,
  PolicyOutcome,
  PolicyVersions,
  Trial,
} from '../../../server/src/http/shapes/policy.ts'
export type { HotKey, Services, Stats } from '../../../server/src/http/shapes/stats.ts'
