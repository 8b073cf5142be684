import { randomUUID } from 'node:crypto'
import type { Answer, Ask, Charge } from '../../core/ask.ts'
import { invalidOption, StoreError } from '../../core/errors.ts'
import type { AskedStore, Asker } from '../asker.ts'
import { Deadlines } from '../deadlines.ts'
import type { Store, StoreHealth, StoreObserver } from '../store.ts'
import { decideAcrossSlots } from './across-slots.ts'
import { Batch } from './batch.ts'
import type { IoredisClient, NodeRedisClient, RedisClient, RedisConnection } from './client.ts'
import { ioredisConnection } from './ioredis-connection.ts'
import { redisKey, slotOf } from './keys.ts'
import { nodeRedisConnection } from './node-redis-connection.ts'
import { isMissingScript, isOnTheMove, redisFailure } from './redis-failure.ts'
import { redisHealth } from './redis-health.ts'
import { decide as decideScript } from './scripts.gen.ts'
import { ServerTime } from './server-time.ts'

export interface RedisStoreOptions {
  /** The start of every Redis key. */
  readonly prefix?: string
  /** After how much silence a connection with open calls is given up, as a frozen server would never end it. */
  readonly socketTimeoutMs?: number
  /** Longest wait between two attempts to connect. */
  readonly reconnectMs?: number
}

const defaults = Object.freeze({ prefix: 'sluice:', socketTimeoutMs: 600, reconnectMs: 200 })

/** One server that is not a cluster has no slots. */
const noSlot = -1
/** How often a batch may be sent again because the server said it was too late by its clock and so did nothing. */
const maxAttempts = 5
/** Until keys that are half-way between two cluster nodes are asked for again. */
const tryAgainMs = 20
/** How many asks of lost calls are settled before others have their turn. */
const failuresPerTurn = 256

/**
 * Keeps counters in Redis or Valkey, exactly across all replicas. Takes the service's own client, ioredis or node-redis, standalone,
 * Sentinel or Cluster, and opens one more connection like it whose options make counting safe; the client itself is not used.
 *
 * @example createLimiter({ policy, store: redisStore(new Redis('redis://localhost')) })
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  const { prefix, socketTimeoutMs, reconnectMs } = { ...defaults, ...options }
  if (typeof prefix !== 'string' || !/^[\x21-\x7e]{0,64}$/.test(prefix))
    throw invalidOption('redisStore.prefix', prefix, 'use at most 64 printable ASCII characters')
  for (const [name, value] of Object.entries({ socketTimeoutMs, reconnectMs })) {
    if (!Number.isFinite(value) || value < 1)
      throw invalidOption(`redisStore.${name}`, value, 'use a number of milliseconds from 1')
  }
  return new RedisStore(connect(client, socketTimeoutMs, reconnectMs), prefix, socketTimeoutMs)
}

function connect(client: RedisClient, socketTimeoutMs: number, reconnectMs: number): RedisConnection {
  const given = client as { evalshaBuffer?: unknown; withTypeMapping?: unknown } | undefined
  if (typeof given?.evalshaBuffer === 'function')
    return ioredisConnection(client as IoredisClient, socketTimeoutMs, reconnectMs)
  if (typeof given?.withTypeMapping === 'function')
    return nodeRedisConnection(client as NodeRedisClient, socketTimeoutMs, reconnectMs)
  throw invalidOption(
    'redisStore client',
    client,
    'pass a client of ioredis (new Redis(...)) or of node-redis (createClient(...))',
  )
}

class RedisStore implements AskedStore {
  readonly name = 'redis'
  readonly keepsDeadlines = true
  readonly #connection: RedisConnection
  readonly #keyOf: (charge: Charge) => string
  readonly #socketTimeoutMs: number
  readonly #deadlines = new Deadlines()
  readonly #times = new Map<string, ServerTime>()
  /** By node: the call that brings the script to it. */
  readonly #loading = new Map<string, Promise<unknown>>()
  #generation = 0
  /** By slot: what was asked in this tick and has not been sent. */
  #open = new Map<number, Batch>()
  #full: [number, Batch][] = []
  /** When each call was sent that has no reply yet; the oldest first. */
  readonly #unanswered = new Set<{ readonly sentMs: number }>()
  /** Batches whose connection was lost, about to be told so. */
  readonly #failing: (readonly [Batch, StoreError])[] = []
  /** How many batches have been sent and not settled. */
  #underWay = 0
  /** Called when there are none any more. */
  #drained: (() => void) | undefined
  #flushing = false
  #attempted = false
  #closed = false
  #observer: StoreObserver | undefined

  constructor(connection: RedisConnection, prefix: string, socketTimeoutMs: number) {
    this.#connection = connection
    this.#socketTimeoutMs = socketTimeoutMs
    this.#keyOf = (charge) => redisKey(prefix, charge)
    connection.attempted.then(() => {
      this.#attempted = true
    })
  }

  watch(observer: StoreObserver): void {
    this.#observer = observer
  }

  decide(ask: Ask, withinMs: number): Promise<Answer> {
    return new Promise((answered, failed) => {
      this.submit(ask, withinMs, { answered, failed })
    })
  }

  submit(ask: Ask, withinMs: number, asker: Asker): undefined {
    if (this.#closed) throw new StoreError('closed', 'The Redis store is closed.')
    if (!this.#connection.isCluster) this.#enqueue(noSlot, ask, withinMs, asker)
    else this.#submitToCluster(ask, withinMs, asker)
  }

  health(withinMs: number): Promise<StoreHealth> {
    return redisHealth(this.#connection, withinMs, this.#deadlines)
  }

  /** Waits for what was asked before, which is until the last deadline at the latest. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    while (this.#underWay > 0 || this.#open.size > 0) {
      this.#flush()
      await new Promise<void>((resolve) => {
        this.#drained = resolve
      })
    }
    this.#deadlines.close()
    await this.#connection.close()
  }

  #submitToCluster(ask: Ask, withinMs: number, asker: Asker): void {
    const slots = ask.charges.map((charge) => slotOf(this.#keyOf(charge)))
    if (slots.every((slot) => slot === slots[0])) {
      this.#enqueue(slots[0]!, ask, withinMs, asker)
      return
    }
    const endMs = performance.now() + withinMs
    decideAcrossSlots(ask, {
      slotOf: (charge) => slotOf(this.#keyOf(charge)),
      decide: (part) =>
        new Promise((answered, failed) => {
          this.#enqueue(slotOf(this.#keyOf(part.charges[0]!)), part, withinMs, { answered, failed })
        }),
      inTime: (work) => this.#deadlines.inTime(work, endMs),
      id: randomUUID,
    }).then(
      (answer) => asker.answered(answer),
      (error) => asker.failed(error),
    )
  }

  #enqueue(slot: number, ask: Ask, withinMs: number, asker: Asker): void {
    let batch = this.#open.get(slot)
    // Asks that may take longer than others must neither wait for them nor hurry them.
    if (batch !== undefined && (batch.isFull || batch.withinMs !== withinMs)) {
      this.#full.push([slot, batch])
      batch = undefined
    }
    if (batch === undefined) {
      batch = new Batch(performance.now() + withinMs, withinMs)
      this.#open.set(slot, batch)
    }
    if (!this.#flushing) {
      this.#flushing = true
      // While others are under way, everything that this turn of the event loop asks, from however many requests, goes out together.
      // Who finds nobody waits for nobody but those that ask in the same breath.
      if (this.#underWay > 0) setImmediate(this.#flush)
      else queueMicrotask(this.#flush)
    }
    batch.add(ask, this.#keyOf, asker)
  }

  readonly #flush = (): void => {
    this.#flushing = false
    const full = this.#full
    const open = this.#open
    if (full.length === 0 && open.size === 0) return
    this.#full = []
    this.#open = new Map()
    for (const [slot, batch] of full) this.#start(slot, batch)
    for (const [slot, batch] of open) this.#start(slot, batch)
  }

  #start(slot: number, batch: Batch): void {
    this.#underWay += 1
    batch.expiry = this.#deadlines.add(batch.deadlineMs, () =>
      this.#end(batch, new StoreError('timeout', 'Redis did not answer before the deadline.')),
    )
    if (this.#attempted) this.#send(slot, batch, 1)
    else this.#connection.attempted.then(() => this.#send(slot, batch, 1))
  }

  /** A batch ends once: with its reply, or with whatever comes first of failure and deadline. */
  #end(batch: Batch, failure?: StoreError): void {
    if (batch.expiry === undefined) return
    batch.expiry()
    batch.expiry = undefined
    if (failure !== undefined) batch.fail(failure)
    this.#underWay -= 1
    if (this.#underWay === 0) this.#drained?.()
  }

  /**
   * A lost connection fails all calls under way at once. Settled together, thousands of decisions would hold each other up past their
   * deadlines; so a few at a time are, those that were sent first first.
   */
  #failInTurn(batch: Batch, failure: StoreError): void {
    if (this.#failing.push([batch, failure]) === 1) setImmediate(() => this.#failSome())
  }

  #failSome(): void {
    let some = 0
    let asks = 0
    while (some < this.#failing.length && asks < failuresPerTurn) {
      const [batch, failure] = this.#failing[some++]!
      asks += batch.size
      this.#end(batch, failure)
    }
    this.#failing.splice(0, some)
    if (this.#failing.length > 0) setImmediate(() => this.#failSome())
  }

  /** `told` is the clock of the server that has just told only its time, in case the next one to answer is not known yet. */
  #send(slot: number, batch: Batch, attempt: number, told?: ServerTime): void {
    const sentMs = performance.now()
    // The deadline has settled it, or is about to.
    if (sentMs >= batch.deadlineMs) return
    const time = this.#timeOf(slot)
    const known = time.at(sentMs) === undefined ? told : time
    const call = { sentMs }
    this.#unanswered.add(call)
    const deadlineMs = Math.min(batch.deadlineMs, this.#givenUpMs())
    const args = batch.args(Math.floor((known?.at(deadlineMs) ?? 0) * 1000), known?.at(sentMs) ?? Date.now())
    this.#run(slot, batch, args).then(
      (reply) => {
        this.#unanswered.delete(call)
        this.#replied(slot, batch, attempt, time, sentMs, reply)
      },
      (error) => {
        this.#unanswered.delete(call)
        this.#failInTurn(batch, redisFailure(error))
      },
    )
  }

  #replied(slot: number, batch: Batch, attempt: number, time: ServerTime, sentMs: number, reply: Buffer): void {
    try {
      const receivedMs = performance.now()
      const { decided, nowUs } = batch.settle(reply)
      time.learn(nowUs, sentMs, receivedMs)
      this.#observer?.roundTrip?.(batch.size, receivedMs - sentMs)
      if (decided) this.#end(batch)
      else if (attempt < maxAttempts) this.#send(slot, batch, attempt + 1, time)
      else this.#end(batch, new StoreError('timeout', "Redis' clock says that every attempt came too late."))
    } catch (error) {
      this.#end(batch, redisFailure(error))
    }
  }

  /**
   * When the connection will be given up, at the earliest, for the silence that the oldest call meets. Calls fail with it before their
   * own deadlines; a server that wakes up after that must not run them.
   */
  #givenUpMs(): number {
    for (const { sentMs } of this.#unanswered) return sentMs + this.#socketTimeoutMs
    return Infinity
  }

  #run(slot: number, batch: Batch, args: readonly string[]): Promise<Buffer> {
    return this.#connection
      .run(decideScript, batch.keys, args)
      .catch((error) => this.#runAgain(slot, batch, args, error))
  }

  /** Sends again only what the server says it did not run. */
  async #runAgain(slot: number, batch: Batch, args: readonly string[], error: unknown): Promise<Buffer> {
    if (isMissingScript(error)) return this.#load(slot, batch, args)
    if (!isOnTheMove(error) || performance.now() + tryAgainMs >= batch.deadlineMs) throw error
    await new Promise((resolve) => setTimeout(resolve, tryAgainMs))
    return this.#run(slot, batch, args)
  }

  /** One call brings the script along; others that miss it on the same node wait for that, and need not send it too. */
  async #load(slot: number, batch: Batch, args: readonly string[]): Promise<Buffer> {
    const node = this.#connection.nodeOf(slot)
    const under = this.#loading.get(node)
    if (under !== undefined) {
      await under.catch(() => undefined)
      return this.#run(slot, batch, args)
    }
    const loading = this.#connection.load(decideScript, batch.keys, args)
    this.#loading.set(node, loading)
    try {
      return await loading
    } finally {
      this.#loading.delete(node)
    }
  }

  #timeOf(slot: number): ServerTime {
    const { generation } = this.#connection
    if (generation !== this.#generation) {
      // A new connection may lead to another server, whose clock is another: a deadline by the old one could be far too late.
      this.#generation = generation
      this.#times.clear()
    }
    const node = slot === noSlot ? '' : this.#connection.nodeOf(slot)
    let time = this.#times.get(node)
    if (time === undefined) {
      time = new ServerTime()
      this.#times.set(node, time)
    }
    return time
  }
}
