export { allOf, type DecidedByAll } from '../admission/all-of.ts'
export type { Guard } from '../admission/guard.ts'
export {
  clientClosedRequest,
  type Denial,
  type Header,
  type Outcome,
  type Problem,
  passed,
  problemType,
  type ResponseEnd,
  refusal,
} from '../admission/outcome.ts'
export { type AnswerOptions, type DecisionAnswer, decisionAnswers } from './guard/decision-answers.ts'
export type { ChargeOptions, FoundKey, GuardOptions, LimiterGuardOptions, OwnKey } from './guard/guard-options.ts'
export { limiterGuard } from './guard/limiter-guard.ts'
export type { SkipOptions } from './guard/skip.ts'
export type { HeaderWriter, NameOf } from './headers/header-writer.ts'
export { type HeaderVersion, rateLimitHeaders } from './headers/rate-limit-headers.ts'
export { type ClientAddress, clientAddress, unknownAddress } from './identity/client-address.ts'
export { type Identify, type IdentityOptions, identity } from './identity/identity.ts'
export { problemOf } from './problem.ts'
export type { AdapterOptions, OnDenied, OwnAnswer, ViewOptions } from './request/adapter-options.ts'
export type { RequestParts } from './request/lazy-view.ts'
export { pathOf, queryOf } from './request/request-target.ts'
export { type RequestReader, requestViews } from './request/request-views.ts'
