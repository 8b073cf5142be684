export * from './booking-conformance.ts'
export * from './faulty-store.ts'
export * from './http-conformance.ts'
export { pipelineSinkConformance } from './pipeline-sink-conformance.ts'
export { pipelineSourceConformance } from './pipeline-source-conformance.ts'
export type { Direction, ProxyStats, TcpProxyOptions } from './proxy-faults.ts'
export { type ClusterOptions, type ClusterServers, startCluster } from './servers/cluster.ts'
export { type MongodOptions, type MongodServer, type MongodUnavailable, startMongod } from './servers/mongod.ts'
export { type NginxOptions, type NginxServer, startNginx } from './servers/nginx.ts'
export { type PortReservation, reservePort } from './servers/ports.ts'
export { type PostgresServer, startPostgres } from './servers/postgres.ts'
export { type RedisServer, type RedisServerOptions, startRedis } from './servers/redis.ts'
export type { Reply } from './servers/resp.ts'
export { type SentinelOptions, type SentinelServers, startSentinel } from './servers/sentinel.ts'
export type { SlotMove } from './servers/slot-move.ts'
export {
  type CollectedEvent,
  type Collector,
  type CollectorOptions,
  type CollectorRequest,
  type Intercept,
  startCollector,
} from './shipper/collector.ts'
export { type CrashMode, type Fault, type ModelFiles, modelFiles } from './shipper/model-files.ts'
export type { Inode } from './shipper/model-inode.ts'
export * from './source-conformance.ts'
export * from './store-conformance.ts'
export * from './tcp-proxy.ts'
export type { TestFramework } from './test-framework.ts'
export * from './virtual-clock.ts'
export * from './wait-for.ts'
