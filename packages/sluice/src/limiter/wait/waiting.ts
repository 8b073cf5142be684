import type { Clock } from '../../core/clock.ts'
import { type Duration, parseDuration } from '../../core/duration.ts'
import type { Charge } from '../../core/engine/ask.ts'
import { SluiceError } from '../../core/errors.ts'
import type { Emitter } from '../../core/observe/emitter.ts'
import type { RuleCharge } from '../../policy/compiled-policy.ts'
import { Deadlines } from '../../runtime/deadlines.ts'
import { onAbort } from '../../runtime/on-abort.ts'
import type { Charges } from '../decision/charges.ts'
import type { Decision } from '../decision/decision.ts'
import type { LimiterEvents, WaitOutcome } from '../events.ts'
import { type QueueOwner, WaitQueue } from './wait-queue.ts'
import type { Waiter } from './waiter.ts'

export interface WaitBounds {
  readonly maxWait?: Duration
  readonly signal?: AbortSignal
}

export interface WaitingParts extends Omit<QueueOwner, 'emptied'> {
  readonly maxWaiting: number
  readonly clock: Clock
  readonly events: Emitter<LimiterEvents>
  /** Announces a final decision. */
  announce(decision: Decision, charges: Charges, tookMs: number): Decision
}

/** Everything that waits at one limiter, by what it waits for. */
export class Waiting {
  readonly #parts: WaitingParts
  readonly #queues = new Map<string, WaitQueue>()
  /** By subject: the queues whose turn may have come when it is given something back. */
  readonly #bySubject = new Map<string, Set<WaitQueue>>()
  readonly #deadlines: Deadlines
  #count = 0

  constructor(parts: WaitingParts) {
    this.#parts = parts
    this.#deadlines = new Deadlines(parts.clock)
  }

  get count(): number {
    return this.#count
  }

  /**
   * Waits for the turn of these charges; decides at once where too many wait or there is nothing to wait for. `attempt`
   * takes them, where that is more than spending one charge.
   */
  async enter(charges: () => Charges, bounds: WaitBounds, attempt?: () => Promise<Decision>): Promise<Decision> {
    const { signal } = bounds
    const maxMs = bounds.maxWait === undefined ? Infinity : parseDuration(bounds.maxWait, 'maxWait')
    signal?.throwIfAborted()
    const now = charges()
    const { enforced } = now
    const key = enforced.map(lineOf).join(' ')
    const known = this.#queues.get(key)
    const sinceMs = this.#parts.clock.monotonic()
    const isFull = this.#count >= this.#parts.maxWaiting
    if (enforced.length === 0 || isFull) {
      const denial = known?.denial({ charges, attempt, sinceMs, untilMs: sinceMs, end: () => {}, fail: () => {} })
      if (denial !== undefined) return this.#ended(denial, now, sinceMs, false)
      return attempt === undefined ? this.#parts.decide(now) : attempt()
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#count -= 1
        deadline?.cancel()
        removeListener()
      }
      const waiter: Waiter = {
        charges,
        attempt,
        sinceMs,
        untilMs: sinceMs + maxMs,
        end: (decision) => {
          leave()
          resolve(this.#ended(decision, charges(), sinceMs, attempt !== undefined))
        },
        fail: (error) => {
          leave()
          reject(error)
        },
      }
      this.#count += 1
      const queue = known ?? this.#open(key, enforced)
      const removeListener = onAbort(signal, () => {
        if (!queue.remove(waiter)) return
        leave()
        this.#note('aborted', enforced, sinceMs)
        reject(signal!.reason)
      })
      const refuse = (): boolean => {
        const denial = queue.denial(waiter)
        if (denial === undefined) return false
        queue.remove(waiter)
        waiter.end(denial)
        return true
      }
      // Before the first answer there is no denial to give; the answer then refuses who is late.
      const deadline = maxMs === Infinity ? undefined : this.#deadlines.add(waiter.untilMs, refuse)
      const waitMs = queue.waitMs(waiter)
      if ((waitMs > maxMs || waitMs === Infinity) && refuse()) return
      queue.add(waiter)
    })
  }

  /** These subjects were given something back. */
  wake(charges: readonly Charge[]): void {
    if (this.#queues.size === 0) return
    for (const charge of charges) for (const queue of this.#bySubject.get(subjectOf(charge)) ?? []) queue.wake()
  }

  wakeAll(): void {
    for (const queue of this.#queues.values()) queue.wake()
  }

  async close(): Promise<void> {
    const error = new SluiceError('SLUICE_CLOSED', 'The limiter was closed while this waited.')
    await Promise.all([...this.#queues.values()].map((queue) => queue.close(error)))
    this.#deadlines.close()
  }

  #ended(decision: Decision, charges: Charges, sinceMs: number, isAnnounced: boolean): Decision {
    this.#note(decision.allowed ? 'admitted' : 'refused', charges.enforced, sinceMs)
    if (isAnnounced) return decision
    return this.#parts.announce(decision, charges, this.#parts.clock.monotonic() - sinceMs)
  }

  #note(outcome: WaitOutcome, enforced: readonly RuleCharge[], sinceMs: number): void {
    const { events, clock } = this.#parts
    if (events.has('waited'))
      events.emit('waited', { outcome, rule: enforced[0]?.rule.name, waitedMs: clock.monotonic() - sinceMs })
  }

  #open(key: string, enforced: readonly RuleCharge[]): WaitQueue {
    const emptied = (queue: WaitQueue): void => {
      // One that came after the last had gone has made it new.
      if (this.#queues.get(queue.key) !== queue || queue.size > 0) return
      this.#queues.delete(queue.key)
      for (const charge of enforced) this.#unlist(subjectOf(charge), queue)
    }
    const queue = new WaitQueue(key, { ...this.#parts, emptied })
    this.#queues.set(key, queue)
    for (const charge of enforced) {
      const subject = subjectOf(charge)
      const queues = this.#bySubject.get(subject) ?? new Set()
      this.#bySubject.set(subject, queues.add(queue))
    }
    return queue
  }

  #unlist(subject: string, queue: WaitQueue): void {
    const queues = this.#bySubject.get(subject)
    queues?.delete(queue)
    if (queues?.size === 0) this.#bySubject.delete(subject)
  }
}

const subjectOf = ({ rule, subject }: Charge): string => rule.prefix + subject

/** Classes that share a limit do not wait for each other. */
function lineOf(charge: Charge): string {
  const of = charge.limits.shared ? charge.limits.limits.at(-1)?.share?.class : undefined
  return of === undefined ? subjectOf(charge) : `${subjectOf(charge)}#${of}`
}
