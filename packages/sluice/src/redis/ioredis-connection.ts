import { type IoredisClient, type RedisConnection, reconnectDelayMs } from './client.ts'
import { once } from './once.ts'
import { Silence } from './silence.ts'

interface Duplicated extends IoredisClient {
  readonly options: Record<string, unknown>
  readonly stream?: { destroy(error: Error): unknown }
  /** Of a cluster. */
  readonly slots?: readonly (readonly string[] | undefined)[]
  nodes?(role: 'master'): Duplicated[]
  evalshaBuffer(sha1: string, numkeys: number, ...args: string[]): Promise<unknown>
  evalBuffer(script: string, numkeys: number, ...args: string[]): Promise<unknown>
  on(event: string, listener: (...args: never[]) => void): unknown
  call(name: string, ...args: string[]): Promise<unknown>
  connect(): Promise<void>
  disconnect(): void
  duplicate(...args: unknown[]): Duplicated
}

/** Opens a connection like the user's, with what makes it safe for counting. */
export function ioredisConnection(
  client: IoredisClient,
  socketTimeoutMs: number,
  reconnectCapMs: number,
): RedisConnection {
  const own = open(client as Duplicated, socketTimeoutMs, reconnectCapMs)
  let lastError: Error | undefined
  own.on('error', (error: Error) => {
    lastError = error
  })
  leaveSilentHandshakes(own, socketTimeoutMs)
  let generation = 0
  // A cluster tells of each node that it has connected to, anything else of being ready.
  for (const event of ['ready', '+node']) {
    own.on(event, () => {
      generation += 1
      lastError = undefined
    })
  }
  // A cluster has a connection to each node but none of its own; there, ioredis looks after each.
  const silence = new Silence(socketTimeoutMs, () => {
    own.stream?.destroy(new Error(`Redis timed out: it did not answer for ${socketTimeoutMs} ms`))
  })
  const guard = <T>(reply: Promise<T>): Promise<T> => {
    silence.began()
    return reply.then(
      (value) => {
        silence.ended()
        return value
      },
      (error: Error) => {
        silence.ended()
        // Without a connection ioredis says only that it cannot write; why it cannot is in the error of the connection.
        throw own.status === 'ready' || lastError === undefined ? error : lastError
      },
    )
  }
  return {
    isCluster: own.isCluster === true,
    get generation() {
      return generation
    },
    attempted: own.isCluster === true ? clusterAttempted(own) : once(own, ['ready', 'error', 'close', 'end']),
    run: (script, keys, args) =>
      guard(own.evalshaBuffer(script.sha1, keys.length, ...keys, ...args) as Promise<Buffer>),
    load: (script, keys, args) =>
      guard(own.evalBuffer(script.source, keys.length, ...keys, ...args) as Promise<Buffer>),
    command: (name, ...args) => guard(own.call(name, ...args)),
    nodeOf: (slot) => own.slots?.[slot]?.[0] ?? '',
    async close() {
      silence.close()
      own.disconnect()
    },
  }
}

/**
 * A cluster tells of every node that is closed; it has failed when it has to begin again. It says that it is ready when it knows its
 * slots, and then fails what is for a node whose connection is still being made.
 */
async function clusterAttempted(own: Duplicated): Promise<void> {
  await once(own, ['ready', 'reconnecting', 'end'])
  const coming = own.nodes!('master').filter(({ status }) => status === 'connecting' || status === 'connect')
  await Promise.all(coming.map((node) => once(node, ['ready', 'error', 'close', 'end'])))
}

/**
 * A server that is frozen accepts connections and says nothing. Nothing is lost by leaving it sooner than one with calls under way; for
 * those, ioredis would set a timer and a listener each time.
 */
function leaveSilentHandshakes(own: Duplicated, socketTimeoutMs: number): void {
  if (own.isCluster === true) return
  own.options.socketTimeout = socketTimeoutMs / 2
  own.on('close', () => {
    own.options.socketTimeout = socketTimeoutMs / 2
  })
  own.on('ready', () => {
    own.options.socketTimeout = undefined
  })
}

function open(client: Duplicated, socketTimeoutMs: number, capMs: number): Duplicated {
  const retry = (attempt: number): number => reconnectDelayMs(attempt, capMs, Math.random)
  const safe = {
    // A command that cannot go out now must fail now, not run late.
    enableOfflineQueue: false,
    // A script whose reply was lost may have run; sending it again would charge twice.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: false,
    // A frozen master keeps its socket open: only silence tells.
    socketTimeout: socketTimeoutMs,
    commandTimeout: undefined,
    connectTimeout: Math.max(socketTimeoutMs, 1000),
    lazyConnect: false,
    retryStrategy: retry,
    sentinelRetryStrategy: retry,
    reconnectOnError: (error: Error) => /^(READONLY|MASTERDOWN)/.test(error.message),
  }
  if (client.isCluster !== true) return client.duplicate(safe)
  return client.duplicate([], {
    enableOfflineQueue: false,
    // Without an offline queue the check fails when it meets a node that is still being connected to, and the cluster begins again. A
    // cluster that is down says so to every script anyway.
    enableReadyCheck: false,
    // Above 0, ioredis sends a command again whose connection was lost, whether or not it ran.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    retryDelayOnTryAgain: 20,
    slotsRefreshInterval: 1000,
    slotsRefreshTimeout: socketTimeoutMs,
    scaleReads: 'master',
    lazyConnect: false,
    clusterRetryStrategy: retry,
    redisOptions: {
      ...(client.options.redisOptions as object),
      ...safe,
      retryStrategy: undefined,
      reconnectOnError: undefined,
    },
  })
}
