export type { UpstreamLimitSpec, UpstreamSpec } from '../policy/document/upstream-spec.ts'
export type { CompiledUpstream, UpstreamLimit, UpstreamRetry } from '../policy/upstream/upstream.ts'
export type { BookingPort } from './booking/messages.ts'
export { inspectUpstream, type LimitInspection, type UpstreamInspection } from './booking/redis-port.ts'
export { createEgress } from './create-egress.ts'
export type {
  CallOptions,
  Egress,
  PlatformRequest,
  ResponseReceiver,
  RunOptions,
  UpstreamHead,
  UpstreamRequest,
  UpstreamResponse,
  UpstreamStats,
} from './egress.ts'
export { type FailureReason, type RefusalReason, RefusedError, UpstreamError } from './egress-error.ts'
export type { EgressEvents } from './events.ts'
export { egressMetrics, egressMetricTable } from './metrics.ts'
export type { Classification, EgressOptions, IncomingResponse, OutgoingRequest, UpstreamHooks } from './options.ts'
