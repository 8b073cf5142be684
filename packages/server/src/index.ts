export {
  configOptions,
  type Flags,
  type LogLevel,
  resolveConfig,
  type ServerConfig,
} from './config/config.ts'
export type { Environment } from './config/read-options.ts'
export { type EnvoyFile, type ImportedPolicy, type ImportOptions, importEnvoy } from './envoy/import-envoy.ts'
export { type ProxyConfig, type RunningProxy, startProxy } from './proxy/proxy.ts'
export { type Daemon, type ServeOptions, serve, type Validated, validate } from './serve.ts'
