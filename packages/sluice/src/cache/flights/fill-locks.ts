import { backoffMs } from '../../core/backoff.ts'
import { type Entry, levelOf } from '../l1/entry.ts'
import type { L1, ReadStart } from '../l1/l1.ts'
import type { L2 } from '../l2/l2.ts'
import type { LookupReply } from '../link/cache-link.ts'
import type { ResolvedOptions } from '../options.ts'
import { noBeginning } from '../values/stored-value.ts'
import { FillLock } from './fill-lock.ts'
import type { Flight, LookupResult } from './flight.ts'

/** How often a process asks again that waits for the fetch of another: a message wakes it, but messages can be lost. */
const polls = { baseMs: 25, maxMs: 1000 } as const

/** How many calls that Redis does not answer a lookup makes again, unless Redis counts as down before. */
const maxUnanswered = 5

/** Reads keys from Redis for flights, or takes their fill locks. */
export class FillLocks {
  readonly #l1: L1
  readonly #l2: L2
  readonly #options: ResolvedOptions
  readonly #deadlineMs: (flight: Flight) => number
  readonly #isClosed: () => boolean
  /** The ends of fill locks that are being sent. */
  readonly #sending = new Set<Promise<unknown>>()

  /** `deadlineMs` is how long the fetch of a flight may take. */
  constructor(
    l1: L1,
    l2: L2,
    options: ResolvedOptions,
    deadlineMs: (flight: Flight) => number,
    isClosed: () => boolean,
  ) {
    this.#l1 = l1
    this.#l2 = l2
    this.#options = options
    this.#deadlineMs = deadlineMs
    this.#isClosed = isClosed
  }

  /** Waits until all locks that ended are released. */
  async idle(): Promise<void> {
    this.#l2.flush()
    await Promise.all(this.#sending)
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
    const endMs = clock.monotonic() + this.#deadlineMs(flight) + fillLockMs
    // Until when another process has the lock for sure, also if Redis does not answer meanwhile.
    let heldUntilMs = clock.monotonic()
    let reply: LookupReply | undefined = first
    let rejected = noBeginning
    let unanswered = 0
    for (let attempt = 0; clock.monotonic() < endMs && !this.#isClosed(); attempt++) {
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
    return new FillLock(this.#l2, this.#options, this.#sending, key, token)
  }

  /** What another process stored meanwhile, if it can be returned. */
  usable(flight: Flight, reply: LookupReply | undefined, start: ReadStart): LookupResult | undefined {
    const entry = this.taken(flight, reply, start)
    if (entry === undefined) return undefined
    const state = this.#l1.stateOf(entry)
    if (state === 'none' || state === 'error') return undefined
    return { value: entry.value, stale: state !== 'fresh', from: levelOf(entry, reply), entry }
  }

  /** The copy that Redis had when this flight read it, unless it was invalidated meanwhile without Redis. */
  taken(flight: Flight, reply: LookupReply | undefined, start: ReadStart): Entry | undefined {
    return reply?.kind === 'stored' && !flight.invalidated ? this.#l2.take(flight.key, reply, start) : undefined
  }
}
