export { answering } from './answering.ts'
export type { Capacity, CapacityAnswer, CapacityStats } from './capacity.ts'
export { createCapacity } from './create-capacity.ts'
export type { CapacityEvents } from './events.ts'
export {
  createIngest,
  type EventResult,
  type Ingest,
  type IngestAnswer,
  type IngestOptions,
  type IngestStats,
} from './ingest/ingest.ts'
export type { IncomingEvent } from './ingest/read-batch.ts'
export type { Seen, SeenIds } from './ingest/seen-ids.ts'
export type { Load } from './load/load-meter.ts'
export { capacityMetrics, capacityMetricTable } from './metrics.ts'
export type { CapacityOptions } from './options.ts'
export type { Priority } from './shed/priority.ts'
export { type SheddingOptions, shedding } from './shed/shedding.ts'
