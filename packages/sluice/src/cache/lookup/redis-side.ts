import type { Timer } from '../../core/clock.ts'
import { everythingScope } from '../keys/cache-key.ts'
import type { CacheLink, ReadWaiter, SetReply } from '../link/cache-link.ts'
import type { Invalidation } from '../protocol/messages.ts'
import type { CacheCore } from './cache-core.ts'

const failuresBeforeDown = 3
const firstProbeMs = 200
const lastProbeMs = 2000
/** Without a lookup for this long, the proof is no longer renewed in advance. */
const idleMs = 10_000
/** With more invalidations than this while Redis is away, they are replaced by one: everything is invalidated. */
const maxQueued = 10_000

/**
 * The cache's communication with Redis: keeps the proof that this process knows all invalidations, stops sending while
 * Redis does not answer, and sends later what could not be sent.
 */
export class RedisSide {
  readonly #core: CacheCore
  readonly #link: CacheLink
  readonly #unsubscribe: () => void
  /** Invalidations to send when Redis is back, and those that are being sent. */
  readonly #queued = new Set<string>()
  #sending: ReadonlySet<string> = new Set()
  #timesQueued = 0
  #down = false
  #failures = 0
  #probes = 0
  #syncing: Promise<boolean> | undefined
  #timer: Timer | undefined
  #usedMs = Number.NEGATIVE_INFINITY
  #closed = false
  /** The connection over which the view was proven. */
  #connection = -1
  /** When Redis last answered, by the cache's clock. */
  lastAnswerMs = 0

  constructor(core: CacheCore, link: CacheLink) {
    this.#core = core
    this.#link = link
    const interrupted = (): void => {
      if (!this.#down && this.#core.view.generation !== undefined) void this.#sync(core.options.redisDeadlineMs)
    }
    this.#unsubscribe = link.subscribe((message) => this.#receive(message), interrupted)
  }

  get state(): 'up' | 'down' {
    return this.#down ? 'down' : 'up'
  }

  /** Calls Redis, unless it is known not to answer; undefined when it did not. */
  async ask<T>(call: (link: CacheLink, withinMs: number) => Promise<T>, withinMs: number): Promise<T | undefined> {
    if (this.#down || withinMs < 1 || this.#closed) return undefined
    try {
      const reply = await call(this.#link, withinMs)
      this.#failures = 0
      this.lastAnswerMs = this.#core.nowMs()
      return reply
    } catch (error) {
      this.#failed(error)
      return undefined
    }
  }

  /** Reads the copy of one key. False when Redis is known not to answer; then nothing is sent. */
  read(key: string, withinMs: number, waiter: ReadWaiter): boolean {
    if (this.#down || withinMs < 1 || this.#closed) return false
    this.#link.readOne(key, withinMs, waiter)
    return true
  }

  /** Redis answered a read. */
  heard(nowMs: number): void {
    this.#failures = 0
    this.lastAnswerMs = nowMs
  }

  failed(error: unknown): void {
    this.#failed(error)
  }

  /**
   * Whether all invalidations up to D ago are known. A proof belongs to a connection: another one may lead to a server
   * that took over and has copies that were replaced.
   */
  proven(): boolean {
    return this.#link.connection === this.#connection && this.#core.view.proven(this.#core.moment())
  }

  /** The same for a time that was already read. A valid proof is renewed before it ends. */
  isProvenAt(monotonicMs: number, wallMs: number): boolean {
    this.#usedMs = monotonicMs
    if (this.#link.connection !== this.#connection || !this.#core.view.provenAt(monotonicMs, wallMs)) return false
    if (this.#timer === undefined && this.#syncing === undefined) this.#schedule(this.#core.options.proofMs * 0.4)
    return true
  }

  /**
   * Obtains a proof for the view, if Redis can be reached. Resolves to whether there is one; at once where there
   * already is.
   */
  prove(withinMs: number): Promise<boolean> | true {
    this.#usedMs = this.#core.clock.monotonic()
    if (this.proven()) {
      if (this.#timer === undefined) this.#schedule(this.#core.options.proofMs * 0.4)
      return true
    }
    if (this.#down || this.#closed) return Promise.resolve(false)
    return this.#sync(withinMs)
  }

  /**
   * Sends an invalidation and applies it. Rejects when Redis does not answer. False when the log is not the one that
   * this process knows: it is sent again when it is, and must be applied locally until then.
   */
  async invalidate(scopes: readonly string[]): Promise<boolean> {
    const message = await this.#link.invalidate(scopes, this.#core.options.redisDeadlineMs)
    this.#sent(message)
    if (message.generation === this.#core.view.generation) return true
    // That log may be lost again before this process has read it.
    this.#core.purge(scopes)
    this.#enqueue(scopes)
    return false
  }

  /** Waits until so many replicas have the latest invalidation. */
  waitForReplicas(replicas: number, withinMs: number): Promise<void> {
    return this.#link.waitForReplicas(replicas, withinMs)
  }

  /** Writes a value for all to read, and applies that it replaces what was there. */
  async set(key: string, bytes: Buffer, keepMs: number): Promise<SetReply> {
    const queued = this.#timesQueued
    const reply = await this.#link.set(key, bytes, keepMs, this.#core.options.redisDeadlineMs)
    // A pending invalidation of the key is about the value before this one.
    if (queued === this.#timesQueued) this.#queued.delete(`k:${key}`)
    this.#sent(reply.message)
    return reply
  }

  /** Remembers what to send when Redis is back. */
  queue(scopes: readonly string[]): void {
    this.#core.count.invalidations.queued += scopes.length
    this.#core.events.emit('invalidation', { way: 'queued', scopes: scopes.length })
    this.#enqueue(scopes)
    this.#failed(undefined, failuresBeforeDown)
  }

  /** Whether an invalidation of this has not reached Redis yet: then the copy in Redis is outdated. */
  isUnsent(key: string, scopes: readonly string[]): boolean {
    if (this.#queued.size === 0 && this.#sending.size === 0) return false
    const isIn = (unsent: ReadonlySet<string>): boolean =>
      unsent.has(`k:${key}`) || scopes.some((scope) => unsent.has(scope))
    return isIn(this.#queued) || isIn(this.#sending)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#core.clock.clearTimeout(this.#timer)
    this.#unsubscribe()
    await this.#link.close()
  }

  #sent(message: Invalidation): void {
    const scopes = message.scopes.length
    this.lastAnswerMs = this.#core.nowMs()
    this.#core.count.invalidations.sent += scopes
    this.#core.events.emit('invalidation', { way: 'sent', scopes })
    this.#take(message)
  }

  #receive(message: Invalidation): void {
    if (this.#closed) return
    this.#core.count.invalidations.received += 1
    this.#core.events.emit('invalidation', { way: 'received', scopes: message.scopes.length })
    this.#take(message)
  }

  #take(message: Invalidation): void {
    const received = this.#core.view.receive(message, this.#core.clock.monotonic())
    if (received !== 'duplicate') for (const scope of message.scopes) this.#core.forget(scope, message)
    if (received === 'gap' && !this.#down) void this.#sync(this.#core.options.redisDeadlineMs)
  }

  #sync(withinMs: number): Promise<boolean> {
    this.#syncing ??= this.#readLog(withinMs).finally(() => {
      this.#syncing = undefined
      this.#renew()
    })
    return this.#syncing
  }

  async #readLog(withinMs: number): Promise<boolean> {
    const { view, count, events } = this.#core
    const askedAt = this.#core.moment()
    const before = view.position
    const { era } = view
    try {
      let reply = await this.#link.sync(before, Math.max(1, withinMs))
      // A server that had been replaced is back, or there are two: it lacks the invalidations of the meantime.
      if (view.hasLeft(reply.generation)) reply = await this.#link.sync(before, withinMs, reply.generation)
      if (this.#closed) return false
      // A lost connection fails its calls, so an answer came over the current one.
      if (view.synchronize(reply, askedAt)) this.#connection = this.#link.connection
      for (const [scope, sequence] of reply.changes)
        this.#core.forget(scope, { generation: reply.generation, sequence })
      const recovered = before?.generation === reply.generation ? reply.changes.length : 0
      if (recovered > 0) {
        count.invalidations.recovered += recovered
        events.emit('invalidation', { way: 'recovered', scopes: recovered })
      }
      this.#answered()
      if (era !== view.era && before !== undefined) this.#core.lost(before.generation === reply.generation)
      return this.proven()
    } catch (error) {
      this.#failed(error)
      return false
    }
  }

  #answered(): void {
    this.#failures = 0
    this.lastAnswerMs = this.#core.nowMs()
    this.#probes = 0
    if (this.#down) {
      this.#down = false
      this.#core.events.emit('redis', { state: 'up' })
    }
    this.#sendQueued()
  }

  #sendQueued(): void {
    if (this.#queued.size === 0 || this.#sending.size > 0) return
    const scopes = [...this.#queued]
    this.#sending = new Set(scopes)
    this.#queued.clear()
    const ended = (): void => {
      this.#sending = new Set()
    }
    this.invalidate(scopes).then(
      (known) => {
        ended()
        if (known) this.#sendQueued()
      },
      () => {
        ended()
        this.#enqueue(scopes)
        this.#failed(undefined, failuresBeforeDown)
      },
    )
  }

  #enqueue(scopes: readonly string[]): void {
    this.#timesQueued += 1
    for (const scope of scopes) this.#queued.add(scope)
    if (this.#queued.size > maxQueued) {
      this.#queued.clear()
      this.#queued.add(everythingScope)
    }
  }

  #failed(error: unknown, by = 1): void {
    this.#failures += by
    if (this.#failures < failuresBeforeDown || this.#down || this.#closed) return
    this.#down = true
    this.#core.events.emit('redis', { state: 'down', error })
    this.#renew()
  }

  /**
   * Schedules the next call: shortly before the proof ends while the cache is in use, or a probe while Redis is away.
   */
  #renew(): void {
    if (this.#closed) return
    const { clock, options, random } = this.#core
    if (this.#down) {
      const waitMs = Math.min(lastProbeMs, firstProbeMs * 2 ** this.#probes) * (0.75 + random() / 2)
      this.#probes += 1
      this.#schedule(waitMs)
    } else if (clock.monotonic() - this.#usedMs < idleMs) this.#schedule(options.proofMs * 0.4)
    else this.#unschedule()
  }

  #schedule(ms: number): void {
    this.#unschedule()
    this.#timer = this.#core.clock.setTimeout(() => {
      this.#timer = undefined
      void this.#sync(this.#core.options.redisDeadlineMs)
    }, ms)
    this.#timer.unref?.()
  }

  #unschedule(): void {
    this.#core.clock.clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
