export { allOf } from '../admission/all-of.ts'
export type { Guard } from '../admission/guard.ts'
export {
  type Denial,
  type GuardOutcome,
  type Header,
  type Problem,
  passed,
  problemType,
  type ResponseEnd,
  refusal,
} from '../admission/outcome.ts'
export { type DecisionAnswer, decisionAnswers } from './guard/decision-answers.ts'
export type { ChargeOptions, GuardOptions, LimiterGuardOptions } from './guard/guard-options.ts'
export { type LimiterGuard, limiterGuard } from './guard/limiter-guard.ts'
export { llmCost } from './guard/llm-cost.ts'
export type { GivenLimiter } from './guard/open-limiter.ts'
export type { SkipOptions } from './guard/skip.ts'
export type { HeaderVersion } from './headers/rate-limit-headers.ts'
export { clientAddress } from './identity/client-address.ts'
export { type IdentityOptions, identity } from './identity/identity.ts'
export type { ViewOptions } from './request/adapter-options.ts'
export { pathOf, queryOf } from './request/request-target.ts'
export { type RequestReader, requestViews } from './request/request-views.ts'
