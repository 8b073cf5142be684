/** The answers of the API. Only types: nothing of the server gets into the page. */
export type {
  ExplainedRule,
  Explanation,
  Inspection,
  Limit,
  LimitsSpec,
} from '../../../server/src/shapes/decisions.ts'
export type { TextRange } from '../../../server/src/shapes/operating.ts'
export type {
  Denial,
  Denials,
  HappeningEntry,
  Hello,
  Overview,
  RuleDetails,
  RuleLimit,
  RuleSummary,
  Rules,
  SecondEntry,
  Session,
  Step,
} from '../../../server/src/shapes/page.ts'
export type {
  AuditEntry,
  Difference,
  Policy,
  PolicyOutcome,
  PolicyVersions,
  Trial,
} from '../../../server/src/shapes/policy.ts'
export type { HotKey, Services, Stats } from '../../../server/src/shapes/stats.ts'
