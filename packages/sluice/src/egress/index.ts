export type { UpstreamLimitSpec, UpstreamSpec } from '../policy/document/upstream-spec.ts'
export type {
  AdaptiveConcurrency,
  Bound,
  CompiledUpstream,
  UpstreamLimit,
  UpstreamRetry,
} from '../policy/upstream/upstream.ts'
export type { PlatformRequest } from './call/platform-request.ts'
export { createEgress } from './create-egress.ts'
export type {
  CallOptions,
  Egress,
  ResponseReceiver,
  UpstreamHead,
  UpstreamRequest,
  UpstreamResponse,
  UpstreamStats,
} from './egress.ts'
export { type FailureReason, type RefusalReason, RefusedError, UpstreamError } from './egress-error.ts'
export type { EgressEvents } from './events.ts'
export { egressMetrics, egressMetricTable } from './metrics.ts'
export type { Classification, EgressOptions, IncomingResponse, OutgoingRequest, UpstreamHooks } from './options.ts'
export type { BookingPort, InProcessBooking, PlainCall } from './places/ports/booking-port.ts'
export { inspectUpstream, type UpstreamInspection } from './places/ports/inspect-upstream.ts'
