export type { Clock } from './core/clock.ts'
export type { Duration } from './core/duration.ts'
export type { LimitStatus } from './core/engine/ask.ts'
export { type ErrorCode, isSluiceError, SluiceError } from './core/errors.ts'
export { HashedPart, type Key, type KeyPart, type ReadKeyPart } from './core/key.ts'
export { createLimiter } from './limiter/create-limiter.ts'
export type { Decision, DeniedDecision } from './limiter/decision/decision.ts'
export type { LimiterEvents } from './limiter/events.ts'
export type {
  Admission,
  Explanation,
  HoldHandle,
  HoldOptions,
  Inspection,
  Limiter,
  LimiterHealth,
  Subject,
  TakeOptions,
  WaitOptions,
} from './limiter/limiter.ts'
export type { LimiterOptions } from './limiter/limiter-options.ts'
export { type LimiterMetricsOptions, limiterMetrics } from './limiter/metrics.ts'
export type { PolicyDocument } from './policy/document/document.ts'
export { PolicyError } from './policy/document/policy-error.ts'
export { openPolicy } from './policy/live/open-policy.ts'
export type { RequestView } from './policy/request-view.ts'
export { filePolicy } from './policy/sources/file/file.ts'
export { type MemoryStore, memoryStore } from './stores/memory/memory-store.ts'
export type { Recount, Recounts, RecountTake } from './stores/recount/recount.ts'
