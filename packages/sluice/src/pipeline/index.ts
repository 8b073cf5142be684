export { createPipeline } from './create-pipeline.ts'
export type { Execution } from './execution.ts'
export { lookup } from './lookup.ts'
export { pipelineMetrics } from './metrics.ts'
export type { PipelineOptions } from './options.ts'
export type {
  Batch,
  DeadLetter,
  Pipeline,
  PipelineEvents,
  PipelineRecord,
  PipelineSink,
  PipelineSource,
  RunReport,
  WriteContext,
} from './pipeline.ts'
export { PipelineError } from './pipeline-error.ts'
export { Fenced, memoryPositions, type Positions } from './positions/positions.ts'
export { postgresPositions } from './positions/postgres-positions.ts'
export { redisPositions } from './positions/redis-positions.ts'
export { cacheSink } from './sinks/cache-sink.ts'
export { fileSink } from './sinks/file-sink.ts'
export { httpSink } from './sinks/http-sink.ts'
export { postgresSink } from './sinks/postgres-sink.ts'
export { redisStreamSink } from './sinks/redis-stream-sink.ts'
export { shipperSink } from './sinks/shipper-sink.ts'
export { fileSource } from './sources/file-source.ts'
export { kafkaSource } from './sources/kafka-source.ts'
export { kinesisSource } from './sources/kinesis-source.ts'
export { postgresSource } from './sources/postgres-source.ts'
export { redisStreamSource } from './sources/redis-stream-source.ts'
export { Rejected, reject, type Step } from './steps.ts'
export { threads } from './threads.ts'
