import { Reachability } from '../../runtime/reachability.ts'
import type { NodeRedisClient } from '../client.ts'
import { type ConnectionOptions, reconnectBackoff } from './connection.ts'
import { type ConnectingClient, connectClient, duplicateOf, kindOf, type OwnNodeRedis } from './node-redis-client.ts'
import type { SubscriberConnection, SubscriberEvents } from './subscriber.ts'

interface Subscribing extends OwnNodeRedis {
  subscribe(channel: string, listener: (text: string, channel: string) => void): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  ping(): Promise<unknown>
}

/** Opens a connection like the user's that receives messages. It reconnects for as long as it is open. */
export function nodeRedisSubscriber(
  client: NodeRedisClient,
  options: ConnectionOptions,
  events: SubscriberEvents,
): SubscriberConnection {
  return new NodeRedisSubscriber(client, options, events)
}

class NodeRedisSubscriber implements SubscriberConnection {
  readonly ping: (() => Promise<unknown>) | undefined
  readonly #source: NodeRedisClient
  readonly #options: ConnectionOptions
  readonly #events: SubscriberEvents
  /** A client that could not connect at all does not try again. */
  readonly #reachability: Reachability
  #own!: Subscribing
  #connecting!: ConnectingClient
  #closed = false

  constructor(client: NodeRedisClient, options: ConnectionOptions, events: SubscriberEvents) {
    this.#source = client
    this.#options = options
    this.#events = events
    this.#reachability = new Reachability({
      clock: options.clock,
      random: Math.random,
      backoff: reconnectBackoff(options.reconnectMs),
      probe: () => this.#start(),
    })
    if (kindOf(client) === 'single') this.ping = () => this.#own.ping()
    this.#start()
  }

  readonly #message = (text: string, channel: string): void => this.#events.message(channel, text)

  subscribe(channel: string): Promise<unknown> {
    return this.#own.subscribe(channel, this.#message)
  }

  unsubscribe(channel: string): Promise<unknown> {
    return this.#own.unsubscribe(channel)
  }

  reconnect(): void {
    if (this.#closed) return
    this.#connecting.end()
    this.#events.lost()
    this.#reachability.failed()
  }

  close(): void {
    this.#closed = true
    this.#reachability.close()
    this.#connecting.end()
  }

  #start(): void {
    const own = duplicateOf(this.#source, this.#options.reconnectMs) as Subscribing
    const isCurrent = (): boolean => own === this.#own && !this.#closed
    const ready = (): void => {
      if (!isCurrent()) return
      this.#reachability.answered()
      this.#events.ready()
    }
    this.#own = own
    own.on('error', () => {
      if (isCurrent()) this.#events.lost()
    })
    const isSingle = kindOf(own) === 'single'
    if (isSingle) own.on('ready', ready)
    this.#connecting = connectClient(own)
    this.#connecting.connected.then(
      () => {
        if (!isSingle) ready()
      },
      () => {
        if (isCurrent()) this.#reachability.failed()
      },
    )
  }
}
