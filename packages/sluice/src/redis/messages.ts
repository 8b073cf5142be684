import type { Timer } from '../core/clock.ts'
import type { StoreError } from '../core/errors.ts'
import { Deadlines } from '../runtime/deadlines.ts'
import { type RedisClient, recogniseClient } from './client.ts'
import type { ConnectionOptions } from './connection/connection.ts'
import { ioredisSubscriber } from './connection/ioredis-subscriber.ts'
import { nodeRedisSubscriber } from './connection/node-redis-subscriber.ts'
import type { SubscriberConnection } from './connection/subscriber.ts'
import { redisFailure } from './failure.ts'

/**
 * Who receives the messages of a channel. Redis keeps no messages: those sent while there is no connection are lost.
 */
export interface Subscriber {
  message(text: string): void
  /** Messages are received from now on. Called again after each reconnection: those in between were lost. */
  ready?(): void
  /** The connection was lost. */
  lost?(): void
  /** The server refuses the account to subscribe; it is tried again every few seconds. */
  refused?(error: StoreError): void
}

/** How often the server is asked whether it is still there; a frozen one keeps its socket open. */
const pingMs = 2000

/** All subscriptions of a handle, over one connection that is opened for the first and closed after the last. */
export class Messages {
  readonly #client: RedisClient
  readonly #options: ConnectionOptions
  readonly #channels = new Map<string, Set<Required<Subscriber>>>()
  /** Channels that could not be subscribed to, although there was a connection. */
  readonly #failed = new Set<string>()
  readonly #deadlines: Deadlines
  #connection: SubscriberConnection | undefined
  #isReady = false
  /** Whether it was at the last ping. */
  #wasReady = true
  #pingTimer: Timer | undefined

  constructor(client: RedisClient, options: ConnectionOptions) {
    this.#client = client
    this.#options = options
    this.#deadlines = new Deadlines(options.clock)
  }

  /** Adds a subscriber; the returned function removes it. Nothing is called before this has returned. */
  subscribe(channel: string, subscriber: Subscriber): () => void {
    // An object of its own, so that the same subscriber can be added twice and removed once.
    const own: Required<Subscriber> = {
      message: (text) => subscriber.message(text),
      ready: () => subscriber.ready?.(),
      lost: () => subscriber.lost?.(),
      refused: (error) => subscriber.refused?.(error),
    }
    const others = this.#channels.get(channel)
    if (others === undefined) this.#channels.set(channel, new Set([own]))
    else others.add(own)
    if (this.#connection === undefined) this.#open()
    else if (this.#isReady) void this.#join(this.#connection, channel, [own])
    return () => this.#leave(channel, own)
  }

  close(): void {
    this.#channels.clear()
    this.#end()
  }

  #open(): void {
    const recognised = recogniseClient(this.#client, 'client')
    const events = {
      ready: () => this.#ready(),
      lost: () => this.#lost(),
      message: (channel: string, text: string) => {
        for (const { message } of [...(this.#channels.get(channel) ?? [])]) message(text)
      },
    }
    this.#connection =
      'ioredis' in recognised
        ? ioredisSubscriber(recognised.ioredis, this.#options, events)
        : nodeRedisSubscriber(recognised.nodeRedis, this.#options, events)
    this.#pingLater()
  }

  #ready(): void {
    const connection = this.#connection
    if (connection === undefined) return
    this.#isReady = true
    for (const [channel, subscribers] of this.#channels) void this.#join(connection, channel, [...subscribers])
  }

  async #join(
    connection: SubscriberConnection,
    channel: string,
    subscribers: readonly Required<Subscriber>[],
  ): Promise<void> {
    try {
      await connection.subscribe(channel)
    } catch (error) {
      // A lost connection comes back and then calls `#ready`; a server that is busy gets better on this one.
      const failure = redisFailure(error)
      if (this.#channels.has(channel)) this.#failed.add(channel)
      if (failure.kind === 'auth') for (const each of subscribers) each.refused(failure)
      return
    }
    this.#failed.delete(channel)
    if (connection !== this.#connection || !this.#isReady) return
    const present = this.#channels.get(channel)
    for (const each of subscribers) if (present?.has(each)) each.ready()
  }

  #leave(channel: string, subscriber: Required<Subscriber>): void {
    const subscribers = this.#channels.get(channel)
    if (!subscribers?.delete(subscriber) || subscribers.size > 0) return
    this.#channels.delete(channel)
    this.#failed.delete(channel)
    if (this.#channels.size === 0) this.#end()
    else if (this.#isReady) this.#connection?.unsubscribe(channel).catch(() => {})
  }

  #lost(): void {
    if (!this.#isReady) return
    this.#isReady = false
    for (const subscribers of this.#channels.values()) for (const { lost } of [...subscribers]) lost()
  }

  #end(): void {
    this.#options.clock.clearTimeout(this.#pingTimer)
    this.#deadlines.close()
    this.#connection?.close()
    this.#connection = undefined
    this.#failed.clear()
    this.#isReady = false
    this.#wasReady = true
  }

  #pingLater(): void {
    this.#pingTimer = this.#options.clock.setTimeout(() => void this.#ping(), pingMs)
    this.#pingTimer.unref?.()
  }

  /** Leaves a server that does not answer, or with which no connection has come about since the last time. */
  async #ping(): Promise<void> {
    const connection = this.#connection!
    const isAlive = this.#isReady
      ? await this.#isAnswering(connection)
      : this.#wasReady || connection.ping === undefined
    if (connection !== this.#connection) return
    this.#wasReady = this.#isReady
    if (!isAlive) connection.reconnect()
    else if (this.#isReady) this.#joinFailed(connection)
    this.#pingLater()
  }

  /** The server may not be busy any more, and the account may have been given the right meanwhile. */
  #joinFailed(connection: SubscriberConnection): void {
    for (const channel of this.#failed) void this.#join(connection, channel, [...(this.#channels.get(channel) ?? [])])
  }

  async #isAnswering(connection: SubscriberConnection): Promise<boolean> {
    if (connection.ping === undefined) return true
    const { clock, socketTimeoutMs } = this.#options
    // A server that answers with an error is there.
    const answer = connection.ping().then(isThere, isThere)
    const waitMs = Math.max(socketTimeoutMs, 1000)
    return this.#deadlines.inTime(answer, clock.monotonic() + waitMs, () => undefined).catch(() => false)
  }
}

function isThere(): true {
  return true
}
