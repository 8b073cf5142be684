import type { Timer } from '../../core/clock.ts'
import { withinTime } from '../../runtime/within-time.ts'
import type { L1 } from '../l1/l1.ts'
import type { CacheMonitor } from '../monitor.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Invalidation } from '../protocol/messages.ts'
import type { CacheLink } from './cache-link.ts'
import type { RedisState } from './redis-state.ts'

/** Without a lookup for this long, the proof is no longer renewed in advance. */
const idleMs = 10_000
/** After which share of its time a proof is renewed. */
const renewAfter = 0.4

/** One answer about the log. */
interface Page {
  readonly changes: number
  readonly hasMore: boolean
}

/**
 * Keeps what L1 knows of invalidations in step with the log in Redis: applies messages, and reads the log when one was
 * lost, before the proof ends, or to find out whether Redis is back.
 */
export class LogFollower {
  readonly #l1: L1
  readonly #link: CacheLink
  readonly #options: ResolvedOptions
  readonly #monitor: CacheMonitor
  readonly #redis: RedisState
  #syncing: Promise<boolean> | undefined
  #timer: Timer | undefined
  #closed = false
  /** Called when the log was read. */
  onSynced: () => void = () => undefined
  /** Called when entries can no longer be proven fresh. `sameLog`: messages were missed; otherwise the log was lost. */
  onLost: (sameLog: boolean) => void = () => undefined

  constructor(l1: L1, link: CacheLink, options: ResolvedOptions, monitor: CacheMonitor, redis: RedisState) {
    this.#l1 = l1
    this.#link = link
    this.#options = options
    this.#monitor = monitor
    this.#redis = redis
  }

  /**
   * Obtains a proof for the view, if Redis can be reached. Resolves to whether there is one; at once where there
   * already is.
   */
  prove(withinMs: number): Promise<boolean> | true {
    if (this.#l1.isProven()) {
      if (this.#timer === undefined && this.#syncing === undefined) this.#planNext()
      return true
    }
    if (this.#redis.isDown || this.#closed) return Promise.resolve(false)
    // Without a timer while one answer is all that is needed: that comes in time, or fails.
    const proof = this.#sync(withinMs)
    if (this.#l1.view.position !== undefined) return proof
    const { clock } = this.#options
    return withinTime(proof, { ms: withinMs, clock, late: () => undefined }).catch(() => false)
  }

  /** Finds out whether Redis is back. */
  probe(): void {
    if (!this.#closed) void this.#sync(this.#options.redisDeadlineMs)
  }

  /** Applies an invalidation that was published or sent. */
  apply(message: Invalidation): void {
    const received = this.#l1.view.receive(message, this.#options.clock.monotonic())
    if (received !== 'duplicate') for (const scope of message.scopes) this.#l1.forget(scope, message)
    if (received === 'gap') this.#catchUp()
  }

  /** Messages may have been lost. */
  interrupted(): void {
    if (this.#l1.view.generation !== undefined) this.#catchUp()
  }

  close(): void {
    this.#closed = true
    this.#options.clock.clearTimeout(this.#timer)
  }

  #catchUp(): void {
    if (!this.#redis.isDown) this.probe()
  }

  #sync(withinMs: number): Promise<boolean> {
    this.#syncing ??= this.#readLog(withinMs).finally(() => {
      this.#syncing = undefined
      this.#planNext()
    })
    return this.#syncing
  }

  /** Reads the log from where the view is, page by page. */
  async #readLog(withinMs: number): Promise<boolean> {
    const { view } = this.#l1
    const before = view.position
    const { epoch } = view
    let changes = 0
    try {
      let page: Page
      do {
        page = await this.#readPage(Math.max(1, withinMs))
        changes += page.changes
      } while (page.hasMore && !this.#closed)
      if (this.#closed) return false
      const sameLog = before !== undefined && before.generation === view.generation
      if (sameLog && changes > 0) this.#monitor.invalidated('recovered', changes)
      this.#redis.recovered(this.#l1.nowMs())
      this.onSynced()
      if (epoch !== view.epoch && before !== undefined) {
        this.#monitor.proofLost(sameLog ? 'lost' : 'generation')
        this.onLost(sameLog)
      }
      return this.#l1.isProven()
    } catch (error) {
      if (!this.#closed) this.#redis.failed(error)
      return false
    }
  }

  async #readPage(withinMs: number): Promise<Page> {
    const { view } = this.#l1
    const askedAt = this.#l1.instant()
    const { position } = view
    let reply = await this.#link.log.sync(position, withinMs)
    // A server that had been replaced is back, or there are two: it lacks the invalidations of the meantime.
    if (view.hasLeft(reply.generation)) reply = await this.#link.log.sync(position, withinMs, reply.generation)
    if (this.#closed) return { changes: 0, hasMore: false }
    const isApplied = view.synchronize(reply, askedAt)
    // A lost connection fails its calls, so an answer came over the current one.
    if (isApplied && reply.isLast) this.#l1.provenConnection = this.#link.redis.connection
    for (const [scope, sequence] of reply.changes) this.#l1.forget(scope, { generation: reply.generation, sequence })
    return { changes: reply.changes.length, hasMore: isApplied && !reply.isLast }
  }

  /** Plans the next reading of the log while the cache is in use: before the proof ends. */
  #planNext(): void {
    const { clock, proofMs } = this.#options
    clock.clearTimeout(this.#timer)
    this.#timer = undefined
    const isIdle = clock.monotonic() - this.#l1.usedMs >= idleMs
    if (this.#closed || isIdle || this.#redis.isDown) return
    this.#timer = clock.setTimeout(() => {
      this.#timer = undefined
      this.#catchUp()
    }, proofMs * renewAfter)
    this.#timer.unref?.()
  }
}
