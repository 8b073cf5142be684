import { missingRight } from '../../redis/missing-right.ts'
import { HealthQuestion } from '../../runtime/part.ts'
import type { DefinedKey } from '../keys/cache-key.ts'
import type { Entry } from '../l1/entry.ts'
import { judgeEntry } from '../l1/entry.ts'
import type { L1, ReadStart } from '../l1/l1.ts'
import { readEntry } from '../l1/make-entry.ts'
import type { CacheMonitor } from '../monitor.ts'
import type { ResolvedOptions } from '../options.ts'
import { inPortions } from '../portions.ts'
import type { Invalidation } from '../protocol/messages.ts'
import { stays } from '../protocol/newer.ts'
import type { CacheLink } from './cache-link.ts'
import { FillWaiters } from './fill-waiters.ts'
import { LogFollower } from './log-follower.ts'
import type { LookupReply, LookupWaiter } from './lookups.ts'
import { RedisState } from './redis-state.ts'
import type { SetReply } from './sets.ts'
import { UnsentInvalidations } from './unsent.ts'

/** More scopes than this are invalidated in several steps: Redis answers nobody else during one. */
const scopesPerCall = 500

/**
 * The second level, Redis: reads and stores copies, sends invalidations, and sends later what could not be sent. Sends
 * nothing while Redis does not answer.
 */
export class L2 {
  readonly #l1: L1
  readonly #link: CacheLink
  readonly #options: ResolvedOptions
  readonly #monitor: CacheMonitor
  readonly #unsubscribe: () => void
  readonly #redis: RedisState
  readonly #isAnswering: HealthQuestion<boolean>
  readonly #unsent = new UnsentInvalidations()
  #closed = false
  /** Why messages are refused. */
  #refusal: unknown
  readonly log: LogFollower
  readonly fills: FillWaiters

  constructor(l1: L1, link: CacheLink, options: ResolvedOptions, monitor: CacheMonitor) {
    this.#l1 = l1
    this.#link = link
    this.#options = options
    this.#monitor = monitor
    this.#redis = new RedisState(options, monitor, () => this.log.probe())
    this.#isAnswering = new HealthQuestion((withinMs) => link.redis.isReachable(withinMs), options.clock)
    this.fills = new FillWaiters(options.clock)
    this.log = new LogFollower(l1, link, options, monitor, this.#redis)
    this.log.onSynced = () => this.#sendUnsent()
    this.#unsubscribe = link.log.subscribe({
      invalidated: (message) => this.#received(message),
      filled: (key) => this.fills.wake(key),
      refused: (error) => {
        this.#refusal = error
      },
      interrupted: () => {
        this.#refusal = undefined
        this.log.interrupted()
        this.fills.wakeAll()
      },
    })
  }

  get isDown(): boolean {
    return this.#redis.isDown
  }

  /** When Redis last answered, by the cache's clock. */
  get lastAnswerMs(): number {
    return this.#redis.lastAnswerMs
  }

  /**
   * Reads a key or takes its fill lock; a copy that begins with `rejected` counts as none. False when Redis is known
   * not to answer; then nothing is sent. The caller reports how it ended, with `answered` or `failed`.
   */
  lookUp(key: string, rejected: Buffer, withinMs: number, waiter: LookupWaiter): boolean {
    if (!this.#isOpen(withinMs)) return false
    this.#link.lookups.add(key, rejected, withinMs, waiter)
    return true
  }

  /** The same with a promise; undefined when Redis did not answer. */
  readOrLock(key: string, rejected: Buffer, withinMs: number): Promise<LookupReply | undefined> {
    return this.#ask(() => this.#lookUp(key, rejected, withinMs), withinMs)
  }

  /** Reads keys and takes no lock; undefined when Redis did not answer. */
  read(keys: readonly string[], withinMs: number): Promise<readonly LookupReply[] | undefined> {
    return this.#ask(() => this.#readAll(keys, withinMs), withinMs)
  }

  /** Stores a value under a fill lock, which ends it; returns when, and 0 or undefined if it was not stored. */
  store(key: string, token: string, copy: string | Buffer, keepMs: number): Promise<number | undefined> {
    const { redisDeadlineMs } = this.#options
    return this.#ask(() => this.#link.stores.store(key, token, copy, keepMs, redisDeadlineMs), redisDeadlineMs)
  }

  /** Keeps a fill lock for longer; false when it is lost. */
  renew(key: string, token: string): Promise<boolean | undefined> {
    const { redisDeadlineMs } = this.#options
    return this.#ask(() => this.#link.stores.renew(key, token, redisDeadlineMs), redisDeadlineMs)
  }

  release(key: string, token: string): Promise<void> {
    const { redisDeadlineMs } = this.#options
    return this.#ask(() => this.#link.stores.release(key, token, redisDeadlineMs), redisDeadlineMs)
  }

  /** Redis answered a lookup. */
  answered(nowMs: number): void {
    this.#redis.answered(nowMs)
  }

  failed(error: unknown): void {
    if (!this.#closed) this.#redis.failed(error)
  }

  /**
   * Judges the copy that Redis answered with and keeps it in L1, in one synchronous step. Returns what is kept, which
   * may be a newer entry that arrived meanwhile; undefined without a copy, and for one that is invalid.
   */
  take(key: DefinedKey, reply: LookupReply | undefined, start: ReadStart): Entry | undefined {
    if (reply?.kind !== 'stored') return undefined
    const { view, entries } = this.#l1
    const entry = readEntry(key, reply, start.atMs, this.#options, this.#monitor)
    if (entry === undefined || this.isUnsent(entry)) return undefined
    const validity = view.judge(entry, start.generation === view.generation ? start.sequence : 0)
    const present = entries.peek(entry.key)
    if (present !== undefined && stays(present, judgeEntry(view, present), entry, validity)) return present
    return this.#l1.keep(entry, validity)
  }

  /**
   * Sends an invalidation and applies it. Rejects when Redis does not answer. Not `applied` when the log is not the one
   * that this process knows: it is sent again when it is, and must be applied locally until then.
   */
  async invalidate(scopes: readonly string[]): Promise<{ readonly applied: boolean; readonly longestProofMs: number }> {
    let [applied, longestProofMs] = [true, 0]
    for (const portion of inPortions(scopes, scopesPerCall)) {
      const message = await this.#link.log.invalidate(portion, this.#options.redisDeadlineMs)
      this.#sent(message)
      longestProofMs = Math.max(longestProofMs, message.longestProofMs)
      if (message.generation === this.#l1.view.generation) continue
      // That log may be lost again before this process has read it.
      this.#l1.purge(portion)
      this.#unsent.add(portion)
      applied = false
    }
    return { applied, longestProofMs }
  }

  /** Waits until so many replicas have the latest invalidation. */
  waitForReplicas(replicas: number, withinMs: number): Promise<void> {
    return this.#link.log.waitForReplicas(replicas, withinMs)
  }

  /** Writes a value for all to read, and applies that it replaces what was there. */
  async set(key: string, copy: string | Buffer, keepMs: number): Promise<SetReply> {
    const { times } = this.#unsent
    const reply = await this.#link.sets.set(key, copy, keepMs, this.#options.redisDeadlineMs)
    // A pending invalidation of the key is about the value before this one.
    if (times === this.#unsent.times) this.#unsent.remove(`k:${key}`)
    this.#redis.answered(this.#l1.nowMs())
    this.#monitor.invalidated('sent', 1)
    this.log.apply(reply.message)
    return reply
  }

  /** Remembers what to send when Redis is back. */
  sendLater(scopes: readonly string[], error: unknown): void {
    this.#monitor.invalidated('queued', scopes.length)
    this.#unsent.add(scopes)
    if (!this.#closed) this.#redis.lost(error)
  }

  /** Whether an invalidation of this has not reached Redis yet: then the copy in Redis is outdated. */
  isUnsent({ key, scopes }: Entry): boolean {
    return this.#unsent.covers(key, scopes)
  }

  /** Sends at once what is gathered to be stored. */
  flush(): void {
    this.#link.stores.flush()
  }

  /** Why values may be old, or fetched by each process for itself; empty while Redis is used. */
  async whyNotReady(): Promise<string[]> {
    // An answer from before the last failure says nothing about an outage.
    const sinceFailureMs = this.#options.clock.monotonic() - this.#redis.lastFailureMs
    const isAnswering = await this.#isAnswering.answer(this.isDown ? sinceFailureMs : undefined)
    const right = this.isDown ? missingRight(this.#redis.lastError) : undefined
    if (right !== undefined) return [right]
    if (!isAnswering) return ['Redis does not answer.']
    return this.isDown ? ['Redis answers, and is used again after the next probe.'] : []
  }

  /** Without messages, invalidations by others are noticed with the next proof. */
  warnings(): string[] {
    const right = missingRight(this.#refusal)
    return right === undefined ? [] : [right]
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#redis.close()
    this.log.close()
    this.#unsubscribe()
    await Promise.all([this.#link.lookups.drain(), this.#link.stores.drain()])
    await this.#link.release()
  }

  /** Calls Redis, unless it is known not to answer; undefined when it did not. */
  async #ask<T>(call: () => Promise<T>, withinMs: number): Promise<T | undefined> {
    if (!this.#isOpen(withinMs)) return undefined
    try {
      const reply = await call()
      this.#redis.answered(this.#l1.nowMs())
      return reply
    } catch (error) {
      this.failed(error)
      return undefined
    }
  }

  /** One promise for all: there may be thousands. */
  #readAll(keys: readonly string[], withinMs: number): Promise<readonly LookupReply[]> {
    return new Promise((resolve, reject) => {
      const replies = new Array<LookupReply>(keys.length)
      let waiting = keys.length
      const received = (index: number, reply: LookupReply): void => {
        replies[index] = reply
        waiting -= 1
        if (waiting === 0) resolve(replies)
      }
      for (const [index, key] of keys.entries())
        this.#link.lookups.add(key, undefined, withinMs, { resolve: (reply) => received(index, reply), reject })
      if (keys.length === 0) resolve(replies)
    })
  }

  #lookUp(key: string, rejected: Buffer, withinMs: number): Promise<LookupReply> {
    return new Promise((resolve, reject) => this.#link.lookups.add(key, rejected, withinMs, { resolve, reject }))
  }

  #isOpen(withinMs: number): boolean {
    return !this.#redis.isDown && withinMs >= 1 && !this.#closed
  }

  #sent(message: Invalidation): void {
    this.#redis.answered(this.#l1.nowMs())
    this.#monitor.invalidated('sent', message.scopes.length)
    this.log.apply(message)
  }

  #received(message: Invalidation): void {
    if (this.#closed) return
    this.#monitor.invalidated('received', message.scopes.length)
    this.log.apply(message)
    // It ends the fill locks of its keys.
    for (const scope of message.scopes) if (scope.startsWith('k:')) this.fills.wake(scope.slice(2))
  }

  #sendUnsent(): void {
    this.#unsent.send(
      async (scopes) => (await this.invalidate(scopes)).applied,
      (error) => {
        if (!this.#closed) this.#redis.lost(error)
      },
    )
  }
}
