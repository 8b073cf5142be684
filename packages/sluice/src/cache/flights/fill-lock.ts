import { backoffMs } from '../../core/backoff.ts'
import type { Timer } from '../../core/clock.ts'
import { type Entry, levelOf } from '../l1/entry.ts'
import type { L1, ReadStart } from '../l1/l1.ts'
import type { Made } from '../l1/make-entry.ts'
import type { L2 } from '../l2/l2.ts'
import type { LookupReply } from '../l2/lookups.ts'
import type { ResolvedOptions } from '../options.ts'
import { noBeginning } from '../values/stored-value.ts'
import { cached, type Flight, type LookupResult } from './flight.ts'

/** How often a process asks again that waits for the fetch of another: a message wakes it, but messages can be lost. */
const polls = { baseMs: 25, maxMs: 1000 } as const

/** How many calls that Redis does not answer a lookup makes again, unless Redis counts as down before. */
const maxUnanswered = 5

/** Obtains the fill locks of keys, or what other processes filled them with. */
export class FillLocks {
  readonly #l1: L1
  readonly #l2: L2
  readonly #options: ResolvedOptions
  /** The ends of fill locks that are being sent. */
  readonly #ending = new Set<Promise<unknown>>()
  #isClosed = false

  constructor(l1: L1, l2: L2, options: ResolvedOptions) {
    this.#l1 = l1
    this.#l2 = l2
    this.#options = options
  }

  /** Nobody waits for the fetch of another process any more. */
  stopWaiting(): void {
    this.#isClosed = true
    this.#l2.fills.wakeAll()
  }

  /** Waits until all locks that ended are released. */
  async idle(): Promise<void> {
    this.#l2.flush()
    await Promise.all(this.#ending)
  }

  /**
   * Obtains the fill lock, or what another process filled the key with. Waits while another process has the lock, which
   * is no longer than its fetch may take and a lock outlives its holder. Undefined when Redis does not answer: at once
   * if there is a value to fall back on, otherwise when Redis counts as down. One answer may be late on a busy machine,
   * and then all processes would fetch.
   */
  async lockOrResult(
    flight: Flight,
    first: LookupReply | undefined,
    hasFallback: boolean,
  ): Promise<FillLock | LookupResult | undefined> {
    const { clock, random, redisDeadlineMs, fillLockMs } = this.#options
    const { encoded } = flight.key
    const endMs = clock.monotonic() + flight.fetchDeadlineMs(this.#options) + fillLockMs
    // Until when another process has the lock for sure, also if Redis does not answer meanwhile.
    let heldUntilMs = clock.monotonic()
    let reply: LookupReply | undefined = first
    let rejected = noBeginning
    let unanswered = 0
    for (let attempt = 0; clock.monotonic() < endMs && !this.#isClosed; attempt++) {
      if (reply?.kind === 'locked') return this.lock(encoded, reply.token)
      if (reply?.kind === 'held') heldUntilMs = clock.monotonic() + reply.forMs
      else if (reply === undefined && clock.monotonic() >= heldUntilMs) {
        unanswered += 1
        if (hasFallback || this.#l2.isDown || unanswered > maxUnanswered) return undefined
      }
      if (reply?.kind === 'stored') rejected = reply.beginning
      // The copy that was read first is replaced at once; everything else waits.
      if (reply !== first || reply?.kind !== 'stored') {
        const leftMs = Math.max(1, heldUntilMs - clock.monotonic())
        const pollMs = backoffMs(attempt, random, polls)
        await this.#l2.fills.wait(encoded, reply?.kind === 'held' ? Math.min(pollMs, leftMs) : pollMs)
      }
      const start = this.#l1.readStart()
      reply = await this.#l2.readOrLock(encoded, rejected, redisDeadlineMs)
      const result = this.usable(flight, reply, start)
      if (result !== undefined) return result
    }
    return reply?.kind === 'locked' ? this.lock(encoded, reply.token) : undefined
  }

  lock(key: string, token: string): FillLock {
    return new FillLock(this.#l2, this.#options, this.#ending, key, token)
  }

  /** What another process stored meanwhile, if it can be returned. */
  usable(flight: Flight, reply: LookupReply | undefined, start: ReadStart): LookupResult | undefined {
    const entry = this.taken(flight, reply, start)
    if (entry === undefined) return undefined
    const state = this.#l1.stateOf(entry)
    if (state === 'none' || state === 'error') return undefined
    return cached(entry, state !== 'fresh', levelOf(entry, reply))
  }

  /** The copy that Redis had when this flight read it, unless it was invalidated meanwhile without Redis. */
  taken(flight: Flight, reply: LookupReply | undefined, start: ReadStart): Entry | undefined {
    return flight.invalidated ? undefined : this.#l2.take(flight.key, reply, start)
  }
}

/**
 * The right to fill a key, which one process has at a time. Its token is a fencing token: what a holder stores after it
 * lost the lock, because it hung, died or the key was invalidated, is refused.
 */
export class FillLock {
  readonly #l2: L2
  readonly #options: ResolvedOptions
  readonly #ending: Set<Promise<unknown>>
  readonly #key: string
  readonly #token: string
  #timer: Timer | undefined
  #over = false

  /** What it sends at its end is in `ending` until it was answered. */
  constructor(l2: L2, options: ResolvedOptions, ending: Set<Promise<unknown>>, key: string, token: string) {
    this.#l2 = l2
    this.#options = options
    this.#ending = ending
    this.#key = key
    this.#token = token
  }

  /** Renews the lock until it ends. */
  hold(): void {
    if (this.#timer !== undefined || this.#over) return
    const { clock, fillLockMs } = this.#options
    const renew = async (): Promise<void> => {
      const kept = await this.#l2.renew(this.#key, this.#token)
      if (kept !== false && !this.#over) plan()
    }
    const plan = (): void => {
      this.#timer = clock.setTimeout(() => void renew(), fillLockMs / 3)
      this.#timer.unref?.()
    }
    plan()
  }

  /** Stores an entry under the lock. No caller waits for it. */
  store(entry: Entry, { write, keepMs }: Made): void {
    this.#end(async () => {
      const id = await this.#l2.store(this.#key, this.#token, write(), keepMs)
      if (id !== undefined && entry.id === 0) entry.id = id
    })
  }

  release(): void {
    this.#end(() => this.#l2.release(this.#key, this.#token))
  }

  #end(send: () => Promise<unknown>): void {
    if (this.#over) return
    this.#over = true
    this.#options.clock.clearTimeout(this.#timer)
    const sent = send().finally(() => this.#ending.delete(sent))
    this.#ending.add(sent)
  }
}
