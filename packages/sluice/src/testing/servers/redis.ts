import { checkOptionNames } from '../../core/check-options.ts'
import { needBinary } from './binary.ts'
import { withFreePorts } from './ports.ts'
import { type ServerProcess, startProcess } from './process.ts'
import { type Reply, respClient } from './resp.ts'

export interface RedisServerOptions {
  /** Further arguments, such as `['--maxmemory', '2mb']`. */
  readonly args?: readonly string[]
  /** The program to run: `'valkey-server'`, or a path. `redis-server` or else `valkey-server` unless said otherwise. */
  readonly binary?: string
}

export const redisServerOptionNames: readonly string[] = ['args', 'binary']

/** A Redis of the test's own on a free loopback port. */
export interface RedisServer {
  readonly port: number
  readonly url: string
  readonly pid: number
  readonly running: boolean
  readonly frozen: boolean
  /** Sends one command and returns its parsed reply; an error reply is thrown. */
  cli<T extends Reply = Reply>(...args: readonly (string | number)[]): Promise<T>
  /** A section of INFO as a record. */
  info(section: string): Promise<Record<string, string>>
  freeze(): Promise<void>
  thaw(): void
  /** SIGKILL, or the signal given; waits until the process has ended. */
  kill(signal?: NodeJS.Signals): Promise<void>
  /** Ends the process if it runs and starts it on the same port, empty. */
  restart(args?: readonly string[]): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts a Redis that keeps nothing on disk.
 *
 * @example
 * const redis = await startRedis()
 * await redis.cli('SET', 'a', 1)
 * await redis.stop()
 */
export function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  checkOptionNames('startRedis', options, redisServerOptionNames)
  return withFreePorts(1, ([port]) => startRedisOn(port!, options))
}

/** Starts a Redis on a port that the caller found to be free. */
export async function startRedisOn(port: number, options: RedisServerOptions = {}): Promise<RedisServer> {
  const { args = [] } = options
  const always = ['--port', `${port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  return startNode(port, { ...options, args: [...always, ...args] })
}

export interface NodeOptions extends RedisServerOptions {
  readonly prepare?: (folder: string) => void
}

/** Starts redis-server with exactly these arguments; a sentinel is such a node too. */
export async function startNode(port: number, options: NodeOptions): Promise<RedisServer> {
  const remedy = 'install Redis (Debian: apt-get install redis-server; macOS: brew install redis)'
  const client = respClient(port)
  const process = await startProcess({
    name: 'redis',
    command: needBinary(options.binary ?? ['redis-server', 'valkey-server'], remedy),
    args: options.args ?? [],
    ...(options.prepare && { prepare: options.prepare }),
    // Someone else may have been quicker to take the port: only this process's own answer counts.
    ready: async (pid) => fields(await client.call('INFO', 'server')).process_id === String(pid),
    graceMs: 1000,
  }).catch((error) => {
    client.close()
    throw error
  })
  return redisServer(port, process, client)
}

function redisServer(port: number, process: ServerProcess, client: ReturnType<typeof respClient>): RedisServer {
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    get pid() {
      return process.pid
    },
    get running() {
      return process.running
    },
    get frozen() {
      return process.frozen
    },
    cli: <T extends Reply>(...args: readonly (string | number)[]) => client.call(...args) as Promise<T>,
    info: async (section) => fields(await client.call('INFO', section)),
    freeze: () => process.freeze(),
    thaw: () => process.thaw(),
    kill: (signal) => process.kill(signal),
    restart: (args) => process.restart(args),
    async stop() {
      client.close()
      await process.stop()
    },
  }
}

/** `name:value` lines as a record. */
export function fields(reply: Reply): Record<string, string> {
  const pairs = String(reply)
    .split('\r\n')
    .filter((line) => line.includes(':'))
  return Object.fromEntries(pairs.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}
