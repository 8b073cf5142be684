export type { Answer } from './backoff/next.ts'
export {
  type BackoffRules,
  type BreakerState,
  breakerOf,
  defaultBackoff,
  delayOf,
  next,
  waitMs,
} from './backoff/next.ts'
export { type Capacity, type FlushState, freshState } from './backoff/state.ts'
export { readState, resetState } from './backoff/state-file.ts'
export { type Appender, type AppenderOptions, createAppender } from './create-appender.ts'
export { createShipper } from './create-shipper.ts'
export type { FileStatus, FileSystem, OpenFile, OpenMode } from './files/file-system.ts'
export type { EventResult } from './flush/answers.ts'
export type { ShipperEvents } from './flush/events.ts'
export type { FlushOutcome, FlushReport } from './flush/flush-run.ts'
export type { Headers } from './flush/http-transport.ts'
export type { ResendReport } from './flush/resending.ts'
export type { AskCapacity, OutgoingEvent, Send, SendResult } from './flush/transport.ts'
export { type BufferReport, inspectBuffer, type OwnerReport, type SegmentReport } from './inspect/inspect-buffer.ts'
export { pendingEvents } from './inspect/read-events.ts'
export { type RepairReport, repairBuffer } from './inspect/repair-buffer.ts'
export { type DamageReport, type VerifyReport, verifyBuffer } from './inspect/verify-buffer.ts'
export type { Checkpoint } from './log/checkpoint.ts'
export type { OnFull } from './log/room.ts'
export type { Position } from './log/segment/position.ts'
export type { Durability } from './log/writer.ts'
export { shipperMetrics, shipperMetricTable } from './metrics.ts'
export type { ShipperOptions } from './options.ts'
export type { LockHolder, LockRecord, LockRenewal } from './owner/lock-record.ts'
export type { ProcessIdentity } from './owner/process-identity.ts'
export { dropRejected } from './rejected/drop-rejected.ts'
export { readRejected, rejectedEvents } from './rejected/rejected-events.ts'
export type { RejectedEvent } from './rejected/rejected-lines.ts'
export { type ResendOptions, resendRejected } from './resend-rejected.ts'
export type { CloseReport, Shipper } from './shipper.ts'
export type { ShipperStats } from './stats.ts'
