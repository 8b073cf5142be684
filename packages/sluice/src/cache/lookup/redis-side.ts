import type { Timer } from '../../core/clock.ts'
import { everythingScope } from '../keys/cache-key.ts'
import type { CacheLink, ReadWaiter, StoredValue } from '../link/cache-link.ts'
import type { Invalidation } from '../protocol/messages.ts'
import type { CacheCore } from './cache-core.ts'

const failuresBeforeDown = 3
const firstProbeMs = 200
const lastProbeMs = 2000
/** Without a lookup for this long, the proof is no longer renewed in advance. */
const idleMs = 10_000
/**
 * More invalidations than this are not kept apart while Redis is away: then all that others have is to be invalidated.
 */
const maxQueued = 10_000

/**
 * The cache's dealings with Redis: keeps the proof that this process knows all invalidations, stops asking while Redis
 * does not answer, and sends later what could not be sent.
 */
export class RedisSide {
  readonly #core: CacheCore
  readonly #link: CacheLink
  readonly #unsubscribe: () => void
  /** Invalidations that are to be sent when Redis is back, and those that are being sent. */
  readonly #queued = new Set<string>()
  #sending: ReadonlySet<string> = new Set()
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

  /** Asks Redis, unless it is known not to answer; undefined when it did not. */
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

  /** Reads the copy of one key: null for none, undefined when Redis did not answer. */
  read(key: string, withinMs: number, answered: (stored: StoredValue | null | undefined) => void): void {
    if (this.#down || withinMs < 1 || this.#closed) answered(undefined)
    else this.#link.readOne(key, withinMs, new Reading(this, answered))
  }

  /** Redis answered a read. */
  heard(): void {
    this.#failures = 0
    this.lastAnswerMs = this.#core.nowMs()
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

  /** The same for a moment that was read already. While it is, the proof is renewed in time. */
  isProvenAt(monotonicMs: number, wallMs: number): boolean {
    this.#usedMs = monotonicMs
    if (this.#link.connection !== this.#connection || !this.#core.view.provenAt(monotonicMs, wallMs)) return false
    if (this.#timer === undefined && this.#syncing === undefined) this.#schedule(this.#core.options.proofMs * 0.4)
    return true
  }

  /**
   * Sees to it that the view is proven, if Redis can be asked. Resolves to whether it is; at once where it is already.
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

  /** Sends an invalidation and takes it in. Rejects when Redis does not answer. */
  async invalidate(scopes: readonly string[], wait: number): Promise<Invalidation> {
    const message = await this.#link.invalidate(scopes, wait, this.#core.options.redisDeadlineMs)
    this.lastAnswerMs = this.#core.nowMs()
    this.#core.count.invalidations.sent += scopes.length
    this.#core.events.emit('invalidation', { way: 'sent', scopes: scopes.length })
    this.#take(message)
    return message
  }

  /** Remembers what to send when Redis is back. */
  queue(scopes: readonly string[]): void {
    this.#core.count.invalidations.queued += scopes.length
    this.#core.events.emit('invalidation', { way: 'queued', scopes: scopes.length })
    this.#enqueue(scopes)
  }

  /** Whether an invalidation of this has not reached Redis yet: then what Redis has was replaced. */
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
    this.#syncing ??= this.#ask(withinMs).finally(() => {
      this.#syncing = undefined
      this.#renew()
    })
    return this.#syncing
  }

  async #ask(withinMs: number): Promise<boolean> {
    const { view, count, events } = this.#core
    const askedAt = this.#core.moment()
    const before = view.position
    const { era } = view
    try {
      let reply = await this.#link.sync(before, Math.max(1, withinMs))
      // A server that had been replaced is back, or there are two: it lacks what was invalidated meanwhile.
      if (view.hasLeft(reply.generation)) reply = await this.#link.sync(before, withinMs, reply.generation)
      if (this.#closed) return false
      // A lost connection fails its calls, so an answer came over the present one.
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
    this.invalidate(scopes, 0).then(
      () => {
        ended()
        this.#sendQueued()
      },
      () => {
        ended()
        this.#enqueue(scopes)
      },
    )
  }

  #enqueue(scopes: readonly string[]): void {
    for (const scope of scopes) this.#queued.add(scope)
    if (this.#queued.size > maxQueued) {
      this.#queued.clear()
      this.#queued.add(everythingScope)
    }
    this.#failed(undefined, failuresBeforeDown)
  }

  #failed(error: unknown, by = 1): void {
    this.#failures += by
    if (this.#failures < failuresBeforeDown || this.#down || this.#closed) return
    this.#down = true
    this.#core.events.emit('redis', { state: 'down', error })
    this.#renew()
  }

  /** Plans the next question: soon before the proof ends while the cache is in use, or a probe while Redis is away. */
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

/** Waits for one read. */
class Reading implements ReadWaiter {
  readonly #side: RedisSide
  readonly #answered: (stored: StoredValue | null | undefined) => void

  constructor(side: RedisSide, answered: (stored: StoredValue | null | undefined) => void) {
    this.#side = side
    this.#answered = answered
  }

  resolve(stored: StoredValue | undefined): void {
    this.#side.heard()
    this.#answered(stored ?? null)
  }

  reject(error: unknown): void {
    this.#side.failed(error)
    this.#answered(undefined)
  }
}
