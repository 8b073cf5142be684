export { nearestWord } from '../core/did-you-mean.ts'
export { parseReadableKey, parseReadableParts } from '../core/key.ts'
export type { CompiledCapacity, CompiledCapacityRow } from './capacity/compile-capacity.ts'
export { type CompileOptions, compilePolicy, compilePolicyInSlices } from './compile/compile-policy.ts'
export { policyWarnings } from './compile/policy-warnings.ts'
export type { CompiledPolicy, CompiledRule, Matched, MatchedRule, ReadField, RuleTrace } from './compiled-policy.ts'
export type { CapacityRowSpec, CapacitySpec } from './document/capacity-spec.ts'
export type * from './document/document.ts'
export type { RuleMode } from './document/document.ts'
export { withoutDatabaseFields } from './document/legacy-document.ts'
export { parseDocument } from './document/parse/parse-document.ts'
export { parseInBackground } from './document/parse/parse-in-background.ts'
export { PolicyError, type PolicyIssue } from './document/policy-error.ts'
export {
  type LivePolicy,
  type LivePolicyOptions,
  type LoadedDocument,
  livePolicy,
  type PolicyStatus,
} from './live/live-policy.ts'
export type { PolicySource, SourcedDocument, SourceListener } from './live/source.ts'
export type { RequestView } from './request-view.ts'
export type { KeyFunctionLookup, KeyFunctions } from './rule/key.ts'
export type { Environment } from './rule/tier-environment.ts'
export type { SelectorRoot } from './selector/parse-selector.ts'
export type { Captured, Selector } from './selector/selector.ts'
