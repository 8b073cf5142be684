export {
  configOptions,
  type Environment,
  type Flags,
  type LogLevel,
  resolveConfig,
  type ServerConfig,
} from './config/config.ts'
export { endOnSignals } from './end-on-signals.ts'
export { type Daemon, type ServeOptions, serve, type Validated, validate } from './serve.ts'
