import type { IoredisClient } from '../client.ts'
import { type ConnectionOptions, reconnectDelayMs } from './connection.ts'
import { reconnectEnded } from './reconnect-ended.ts'
import type { SubscriberConnection, SubscriberEvents } from './subscriber.ts'

interface Duplicated extends IoredisClient {
  readonly options: { readonly redisOptions?: object }
  readonly stream?: { destroy(error: Error): unknown }
  on(event: string, listener: (...args: never[]) => void): unknown
  subscribe(channel: string): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  ping(): Promise<unknown>
  connect(): Promise<unknown>
  disconnect(reconnect?: boolean): void
  duplicate(...args: unknown[]): Duplicated
}

/** Opens a connection like the user's that receives messages. It reconnects for as long as it is open. */
export function ioredisSubscriber(
  client: IoredisClient,
  { socketTimeoutMs, reconnectMs, clock }: ConnectionOptions,
  events: SubscriberEvents,
): SubscriberConnection {
  const retry = (attempt: number): number => reconnectDelayMs(attempt, reconnectMs, Math.random)
  const options = {
    lazyConnect: false,
    // The owner subscribes again after each reconnection, and so knows when that is done.
    autoResubscribe: false,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: Math.max(socketTimeoutMs, 1000),
    retryStrategy: retry,
    sentinelRetryStrategy: retry,
    failoverDetector: true,
  }
  const source = client as Duplicated
  const isCluster = source.isCluster === true
  const own = isCluster
    ? source.duplicate([], {
        lazyConnect: false,
        clusterRetryStrategy: retry,
        // Its timer outlives a client that is closed during a refresh.
        slotsRefreshInterval: 0,
        // Here the client moves subscriptions from node to node by itself.
        redisOptions: { ...source.options.redisOptions, connectTimeout: options.connectTimeout },
      })
    : source.duplicate(options)
  own.on('error', () => {})
  own.on('ready', () => events.ready())
  own.on('close', () => events.lost())
  own.on('message', ((channel: string, text: string) => events.message(channel, text)) as never)
  const stopReconnecting = reconnectEnded(own, reconnectMs, clock)
  const reconnect = (): void => own.disconnect(true)
  return {
    subscribe: (channel) => own.subscribe(channel),
    unsubscribe: (channel) => own.unsubscribe(channel),
    reconnect,
    close: () => {
      stopReconnecting()
      own.disconnect()
    },
    ...(isCluster ? {} : { ping: () => own.ping() }),
  }
}
