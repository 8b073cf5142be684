import type { Clock } from '../../core/clock.ts'
import { afterUnread } from '../../runtime/after-unread.ts'
import { every } from '../../runtime/every.ts'
import type { IoredisClient } from '../client.ts'
import { slotOf } from '../slots.ts'
import {
  type ConnectionOptions,
  flatReply,
  type RedisArgument,
  type RedisConnection,
  reconnectDelayMs,
} from './connection.ts'
import { once } from './once.ts'
import { reconnectEnded } from './reconnect-ended.ts'
import { Silence } from './silence.ts'

interface Duplicated extends IoredisClient {
  readonly options: Record<string, unknown>
  readonly stream?: { readonly bytesRead: number; destroy(error?: Error): unknown }
  /** Of a cluster. */
  readonly slots?: readonly (readonly string[] | undefined)[]
  nodes?(role: 'master'): Duplicated[]
  refreshSlotsCache?(): void
  evalshaBuffer(sha1: string, numkeys: number, ...args: (readonly RedisArgument[])[]): Promise<unknown>
  evalBuffer(script: string, numkeys: number, ...args: (readonly RedisArgument[])[]): Promise<unknown>
  on(event: string, listener: (...args: never[]) => void): unknown
  off(event: string, listener: (...args: never[]) => void): unknown
  call(name: string, ...args: RedisArgument[]): Promise<unknown>
  callBuffer(name: string, ...args: RedisArgument[]): Promise<unknown>
  connect(): Promise<void>
  disconnect(): void
  duplicate(...args: unknown[]): Duplicated
}

/** Opens a connection like the user's, with options that make it safe for counting. */
export function ioredisConnection(
  client: IoredisClient,
  { socketTimeoutMs, reconnectMs, clock }: ConnectionOptions,
): RedisConnection {
  const own = open(client as Duplicated, socketTimeoutMs, reconnectMs)
  let lastError: Error | undefined
  let isWrongDatabase = false
  own.on('error', (error: Error & { readonly command?: { readonly name?: string } }) => {
    if (isWrongDatabase) return
    lastError = error
    if (error.command?.name !== 'select') return
    // ioredis would go on in database 0, among the counters of others. Its further errors are consequences. From here
    // on nothing is sent. A socket that is destroyed during the handshake of ioredis 5 may be taken for a ready one for
    // ever, so the handshake ends first.
    isWrongDatabase = true
    if (own.status === 'ready') own.stream?.destroy(error)
  })
  own.on('connect', () => {
    isWrongDatabase = false
  })
  leaveSilentHandshakes(own, socketTimeoutMs)
  readBeforeTimeouts(own, clock)
  own.on('+node', (node: Duplicated) => readBeforeTimeouts(node, clock))
  const stopReconnecting = reconnectEnded(own, reconnectMs, clock)
  const stopRefreshing = own.isCluster === true ? refreshSlots(own, clock) : () => undefined
  let generation = 0
  // A cluster emits '+node' for each node that it has connected to; other clients emit 'ready'.
  for (const event of ['ready', '+node']) {
    own.on(event, () => {
      if (isWrongDatabase) {
        own.stream?.destroy(lastError!)
        return
      }
      generation += 1
      lastError = undefined
    })
  }
  // A cluster has one connection per node and no stream of its own; there, ioredis watches each connection itself.
  const silence = new Silence(clock, socketTimeoutMs, () => {
    own.stream?.destroy(new Error(`Redis timed out: it did not answer for ${socketTimeoutMs} ms`))
  })
  // Made once: every decision comes by here.
  const answered = <T>(value: T): T => {
    silence.ended()
    return value
  }
  const failed = (error: Error): never => {
    silence.ended()
    // Without a connection ioredis only says that it cannot write. The reason is in the last error of the connection.
    throw (own.status === 'ready' && !isWrongDatabase) || lastError === undefined ? error : lastError
  }
  const guard = <T>(send: () => Promise<T>): Promise<T> => {
    if (isWrongDatabase) return Promise.reject(lastError)
    silence.began()
    return send().then<T, never>(answered, failed)
  }
  return {
    isCluster: own.isCluster === true,
    get generation() {
      return generation
    },
    attempted: own.isCluster === true ? clusterAttempted(own) : once(own, ['ready', 'error', 'close', 'end']),
    // ioredis makes one list of nested ones, so there is no need to do it twice.
    run: (script, keys, args) =>
      guard(() => own.evalshaBuffer(script.sha1, keys.length, keys, args) as Promise<Buffer>),
    load: (script, keys, args) =>
      guard(() => own.evalBuffer(script.source, keys.length, keys, args) as Promise<Buffer>),
    command: ([name, ...args], { bytes, key }) => {
      // ioredis 5 finds the key of a command, and so its cluster node, only by the name in lower case.
      const command = String(name).toLowerCase()
      const asked = command === 'wait' && key !== undefined ? masterOf(own, key) : own
      return guard(() => (bytes ? asked.callBuffer(command, ...args) : asked.call(command, ...args))).then(flatReply)
    },
    nodeOf: (slot) => own.slots?.[slot]?.[0] ?? '',
    async close() {
      silence.close()
      stopReconnecting()
      stopRefreshing()
      own.disconnect()
    },
  }
}

/** Moved slots are noticed before a command is answered with MOVED. */
function refreshSlots(own: Duplicated, clock: Clock): () => void {
  return every(1000, clock, () => {
    if (own.status === 'ready') own.refreshSlotsCache!()
  })
}

/** A command that names no key would go to any node of a cluster; WAIT is about the writes of one of them. */
function masterOf(own: Duplicated, key: string): Duplicated {
  if (own.isCluster !== true) return own
  const address = own.slots?.[slotOf(key)]?.[0]
  const node = own.nodes!('master').find(({ options: { host, port } }) => `${host}:${port}` === address)
  if (node === undefined) throw new Error(`CLUSTERDOWN the node of ${key} is not known`)
  return node
}

/**
 * A cluster emits 'close' for every node, so only 'reconnecting' means that it has failed. It emits 'ready' as soon as
 * it knows its slots, and then fails commands for nodes whose connection is still being made; so this waits for those
 * too.
 */
async function clusterAttempted(own: Duplicated): Promise<void> {
  await once(own, ['ready', 'reconnecting', 'end'])
  const coming = own.nodes!('master').filter(({ status }) => status === 'connecting' || status === 'connect')
  await Promise.all(coming.map((node) => once(node, ['ready', 'error', 'close', 'end'])))
}

/**
 * A frozen server accepts connections and never answers. During the handshake no call is in flight, so it can be left
 * sooner. Once ready, `Silence` takes over: ioredis would set a timer and a listener for each call.
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

/**
 * The timer of ioredis fires before sockets are read. After a long turn of the event loop it would close a connection
 * whose replies have come and are not read yet, and fail all calls in flight.
 */
function readBeforeTimeouts(own: Duplicated, clock: Clock): void {
  own.on('connect', () => {
    const { stream } = own
    // A cluster has no stream.
    if (stream === undefined) return
    const destroy = stream.destroy.bind(stream)
    stream.destroy = (error) => {
      if (error?.message.startsWith('Socket timeout') !== true) return destroy(error)
      const { bytesRead } = stream
      afterUnread(clock, () => {
        if (stream.bytesRead === bytesRead) destroy(error)
      })
      return stream
    }
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
    // A frozen master keeps its socket open: only its silence shows.
    socketTimeout: socketTimeoutMs,
    commandTimeout: undefined,
    connectTimeout: Math.max(socketTimeoutMs, 1000),
    lazyConnect: false,
    retryStrategy: retry,
    sentinelRetryStrategy: retry,
    // In a planned failover the old master takes writes for up to ten seconds more; the sentinels announce the new one
    // at once.
    failoverDetector: true,
    reconnectOnError: (error: Error) => /^(READONLY|MASTERDOWN)/.test(error.message),
    // With this ioredis 5 waits for replies before it is ready, and so for the one to SELECT.
    ...(client.options.db ? { disableClientInfo: false } : {}),
  }
  if (client.isCluster !== true) return client.duplicate(safe)
  return client.duplicate([], {
    enableOfflineQueue: false,
    // Without an offline queue this check fails on a node that is still connecting, and then the cluster starts over. A
    // cluster that is down answers every script with CLUSTERDOWN anyway.
    enableReadyCheck: false,
    // Above 0, ioredis sends a command again after its connection was lost, although it may have run.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    retryDelayOnTryAgain: 20,
    // Done by `refreshSlots`: the timer of ioredis outlives the client that is closed during a refresh.
    slotsRefreshInterval: 0,
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
