import { type NodeRedisClient, type RedisConnection, reconnectDelayMs } from './client.ts'
import { once } from './once.ts'

interface EvalOptions {
  readonly keys: readonly string[]
  readonly arguments: readonly string[]
}

interface Duplicated extends NodeRedisClient {
  readonly isReady?: boolean
  /** Only clusters have it. */
  readonly slots?: readonly ({ readonly master?: { readonly address?: string } } | undefined)[]
  readonly options?: Record<string, unknown>
  withTypeMapping(mapping: unknown): Duplicated
  duplicate(...args: unknown[]): Duplicated
  connect(): Promise<unknown>
  destroy(): void
  evalSha(sha1: string, options: EvalOptions): Promise<unknown>
  eval(script: string, options: EvalOptions): Promise<unknown>
  sendCommand(...args: unknown[]): Promise<unknown>
}

/** RESP's sign for a blob string: replies come as bytes, not as text. */
const blobString = 36

/** Opens a connection like the user's, with what makes it safe for counting. */
export function nodeRedisConnection(client: NodeRedisClient, socketTimeoutMs: number, reconnectCapMs: number): RedisConnection {
  const source = client as Duplicated
  const isCluster = source.slots !== undefined
  const own = open(source, isCluster, socketTimeoutMs, reconnectCapMs)
  let lastError: Error | undefined
  own.on('error', (error: Error) => {
    lastError = error
  })
  const bytes = own.withTypeMapping({ [blobString]: Buffer })
  const guard = <T>(reply: Promise<T>): Promise<T> =>
    reply.catch((error: Error) => {
      throw own.isReady === false && lastError !== undefined ? lastError : error
    })
  const attempted = Promise.race([once(own, ['ready', 'error', 'end']), own.connect()]).then(ignore, ignore)
  return {
    isCluster,
    attempted,
    run: (script, keys, args) => guard(bytes.evalSha(script.sha1, { keys, arguments: args }) as Promise<Buffer>),
    load: (script, keys, args) => guard(bytes.eval(script.source, { keys, arguments: args }) as Promise<Buffer>),
    command: (name, ...args) => guard(isCluster ? own.sendCommand(undefined, true, [name, ...args]) : own.sendCommand([name, ...args])),
    nodeOf: (slot) => own.slots?.[slot]?.master?.address ?? '',
    async close() {
      own.destroy()
    },
  }
}

function ignore(): void {}

function open(client: Duplicated, isCluster: boolean, socketTimeoutMs: number, capMs: number): Duplicated {
  const { socket, defaults, ...rest } = (client.options ?? {}) as { socket?: object; defaults?: { socket?: object } }
  const safe = {
    disableOfflineQueue: true,
    socket: {
      ...(isCluster ? defaults?.socket : socket),
      // A frozen master keeps its socket open: only silence tells.
      socketTimeout: socketTimeoutMs,
      connectTimeout: Math.max(socketTimeoutMs, 1000),
      reconnectStrategy: (attempt: number) => reconnectDelayMs(attempt, capMs, Math.random),
    },
  }
  return isCluster ? client.duplicate({ ...rest, defaults: { ...defaults, ...safe } }) : client.duplicate(safe)
}
