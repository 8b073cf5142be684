export type { PaceStatus } from './core/algorithms/algorithm.ts'
export type { Clock, Timer, TimeSource } from './core/clock.ts'
export type { Duration } from './core/duration.ts'
export type { Answer, AnsweredBy, Ask, Charge, LimitStatus, OnStoreFailure } from './core/engine/ask.ts'
export { type ErrorCode, type FailureKind, isSluiceError, SluiceError, StoreError } from './core/errors.ts'
export { decodeKey, encodeKey, HashedPart, type Key, type KeyPart, type ReadKeyPart } from './core/key.ts'
export type { PartMetrics } from './core/observe/metrics.ts'
export { createLimiter, type RuleNameOf } from './limiter/create-limiter.ts'
export type {
  AllowedDecision,
  DecidedBy,
  Decision,
  DenialReason,
  DeniedDecision,
  Reason,
  ShadowDecision,
} from './limiter/decision/decision.ts'
export type { LimiterEvents } from './limiter/events.ts'
export type * from './limiter/limiter.ts'
export { type LimiterMetricsOptions, limiterMetrics } from './limiter/metrics.ts'
export type { LimiterOptions } from './limiter/options.ts'
export type { PolicyDocument } from './policy/document/document.ts'
export { PolicyError } from './policy/document/policy-error.ts'
export type { PolicyStatus } from './policy/live/live-policy.ts'
export { openPolicy } from './policy/live/open-policy.ts'
export type { PolicySource, SourcedDocument, SourceListener } from './policy/live/source.ts'
export type { RequestView } from './policy/request-view.ts'
export type { KeyFunctions } from './policy/rule/key.ts'
export type { ArchivedSource, PolicyArchive, PolicyVersion, PushOptions } from './policy/sources/archive.ts'
export { type FilePolicyOptions, filePolicy } from './policy/sources/file/file.ts'
export { type MemoryStore, type MemoryStoreOptions, memoryStore } from './stores/memory/memory-store.ts'
export type { Recount, RecountCount, RecountPeriod, Recounts, RecountTake } from './stores/recount/recount.ts'
export type { Continuity, RecountOutcome, Store, StoreHealth, StoreObserver } from './stores/store.ts'
