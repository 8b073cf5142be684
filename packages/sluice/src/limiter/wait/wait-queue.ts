import type { Clock } from '../../core/clock.ts'
import type { Answer, Charge } from '../../core/engine/ask.ts'
import { changeCharge } from '../../core/engine/charge.ts'
import type { CallbackStore } from '../../stores/callback-store.ts'
import type { WaitLine } from '../../stores/store.ts'
import type { Charges } from '../decision/charges.ts'
import type { Decision } from '../decision/decision.ts'
import { estimateWaitMs, roomOf } from './estimate-wait.ts'
import { StandInLine } from './stand-in-line.ts'
import { unitsOf, type Waiter } from './waiter.ts'

/** How soon to ask again while the store is away and a rule is closed; that costs no round trip. */
const outageMs = 250
/** How soon to ask again for a permit: only those that come back in this process wake who waits. */
const permitMs = 1000
/** How long to leave units to processes that waited longer before looking again, at least and at most. */
const turnMs = { least: 5, most: 1000 }

/** How often to look whether a term has ended, where the policy has any; that costs no round trip. */
const termMs = 1000

export interface QueueOwner {
  readonly store: CallbackStore
  readonly line: WaitLine | undefined
  readonly process: string
  readonly deadlineMs: number
  readonly clock: Clock
  /** Whether what is charged may change with the time alone. */
  isDated(): boolean
  /** What an answer means for one of those that asked for it; not announced yet. */
  decisionOf(charges: readonly Charge[], answer: Answer): Decision
  /** Decides at once. */
  decide(charges: Charges): Promise<Decision>
  /** Nobody waits in the queue any more. */
  emptied(queue: WaitQueue): void
}

/**
 * Those that wait for the same subjects, first in, first out. Only the first of them asks, at the moment that the store
 * named when it denied; and for all that want the same, so that one round trip serves as many as there are units for.
 */
export class WaitQueue {
  readonly key: string
  readonly #owner: QueueOwner
  readonly #waiters = new Set<Waiter>()
  readonly #standing: StandInLine | undefined
  #units = 0
  /** The last denial, and the answer that it was made of. */
  #last: { readonly denial: Decision; readonly answer: Answer | undefined; readonly atMs: number } | undefined
  #isServing = false
  #isWoken = false
  #endSleep: (() => void) | undefined

  constructor(key: string, owner: QueueOwner) {
    this.key = key
    this.#owner = owner
    this.#standing = owner.line && new StandInLine(key, owner.line, this.#waiters, owner)
  }

  get size(): number {
    return this.#waiters.size
  }

  add(waiter: Waiter): void {
    this.#waiters.add(waiter)
    this.#units += unitsOf(waiter)
    if (!this.#isServing) void this.#serve()
  }

  /** Takes out one that does not wait any longer. */
  remove(waiter: Waiter): boolean {
    const [head] = this.#waiters
    if (!this.#drop(waiter)) return false
    // The next one may need less.
    if (waiter === head) this.wake()
    return true
  }

  #drop(waiter: Waiter): boolean {
    if (!this.#waiters.delete(waiter)) return false
    this.#units = this.#waiters.size === 0 ? 0 : this.#units - unitsOf(waiter)
    return true
  }

  /** Asks again without waiting for the moment that was named: something was given back, or the policy has changed. */
  wake(): void {
    this.#isWoken = true
    this.#endSleep?.()
  }

  /** The denial of one who cannot wait: it says for how long those before it and itself would have to. */
  denial(waiter: Waiter): Decision | undefined {
    if (this.#last === undefined) return undefined
    const retryAfterMs = Math.max(1, Math.ceil(this.waitMs(waiter)))
    return { ...this.#last.denial, retryAfterMs } as Decision
  }

  /** How long one who comes now would wait at least. */
  waitMs(waiter: Waiter): number {
    if (this.#last === undefined) return 0
    const { denial, answer, atMs } = this.#last
    const units = this.#units + unitsOf(waiter) + (this.#standing?.unitsOfOthers ?? 0)
    const fromThenMs =
      answer === undefined ? denial.retryAfterMs : estimateWaitMs(waiter.charges().enforced, answer, units)
    return Math.max(0, fromThenMs - (this.#owner.clock.monotonic() - atMs))
  }

  /** Refuses all, as the limiter is being closed. */
  async close(error: Error): Promise<void> {
    for (const waiter of this.#waiters) waiter.fail(error)
    this.#waiters.clear()
    this.wake()
    await this.#standing?.leave()
  }

  async #serve(): Promise<void> {
    this.#isServing = true
    while (this.#waiters.size > 0) {
      const [head] = this.#waiters
      this.#isWoken = false
      try {
        const waitMs = await this.#round(head!)
        if (waitMs > 0 && this.#waiters.size > 0) await this.#pause(head!, waitMs)
      } catch (error) {
        if (this.#drop(head!)) head!.fail(error)
      }
    }
    this.#isServing = false
    void this.#standing?.leave()
    this.#owner.emptied(this)
  }

  /** Serves as many as possible; returns for how long nobody else can be. */
  async #round(head: Waiter): Promise<number> {
    const charges = head.charges()
    const { enforced } = charges
    // A newer policy has dropped what was waited for.
    if (enforced.length === 0) return this.#attempt(head, () => this.#owner.decide(charges))
    const run = head.attempt === undefined ? this.#runOf(head) : [head]
    const turn = this.#last === undefined ? run.length : await this.#turn(run, enforced)
    if (turn <= 0) return -turn
    if (head.attempt !== undefined) return this.#attempt(head, head.attempt)
    return this.#take(run.slice(0, turn), enforced)
  }

  /** Those from the first one on that want the same. Local units of leases and sources of truth give one at a time. */
  #runOf(head: Waiter): Waiter[] {
    const { enforced } = head.charges()
    const charge = enforced[0]!
    if (enforced.length > 1 || charge.rule.lease || charge.rule.onStoreFailure === 'recount') return [head]
    const run: Waiter[] = []
    for (const waiter of this.#waiters) {
      const other = waiter.charges().enforced[0]
      if (waiter.attempt !== undefined || other?.cost !== charge.cost || other.limits !== charge.limits) break
      run.push(waiter)
    }
    return run
  }

  /**
   * How many of these may take before others that waited longer in other processes; what those need is left to them, so
   * that nobody has to be told when it is their turn. A negative number is how many milliseconds to wait instead.
   */
  async #turn(run: readonly Waiter[], charges: readonly Charge[]): Promise<number> {
    const { store, deadlineMs } = this.#owner
    const standing = this.#standing
    if (standing === undefined || this.#last?.denial.degraded) return run.length
    const first = (): number => {
      const next = run.findIndex((waiter) => !standing.isFirst(waiter))
      return next < 0 ? run.length : next
    }
    if (first() > 0) return first()
    await standing.stand()
    if (first() > 0) return first()
    const answer = await store.decide({ kind: 'peek', charges }, deadlineMs)
    if (answer.failure !== undefined) return run.length
    const [room, cost] = [roomOf(charges, answer), charges[0]!.cost]
    const neededBy = (i: number): number => (i + 1) * cost + standing.olderUnits(run[i]!.sinceMs)
    let turn = 0
    while (turn < run.length && neededBy(turn) <= room) turn += 1
    if (turn > 0) return turn
    const waitMs = estimateWaitMs(charges, answer, neededBy(0))
    return -Math.min(turnMs.most, Math.max(turnMs.least, waitMs))
  }

  async #attempt(head: Waiter, attempt: () => Promise<Decision>): Promise<number> {
    const decision = await attempt()
    if (!decision.allowed) return this.#denied(head, decision, undefined)
    this.#drop(head)
    head.end(decision)
    this.#standing?.changed()
    return 0
  }

  async #take(run: readonly Waiter[], charges: readonly Charge[]): Promise<number> {
    const { store, deadlineMs, decisionOf } = this.#owner
    const answer = await store.decide({ kind: 'take', charges, copies: run.length, hold: undefined }, deadlineMs)
    const cost = charges[0]!.cost
    let left = answer.granted
    for (const waiter of run) {
      // Who has given up meanwhile is not there any more.
      if (left > 0 && this.#drop(waiter)) {
        left -= 1
        waiter.end(decisionOf(charges, passedOf(answer, left * cost)))
      }
    }
    if (left > 0) this.#giveBack(charges[0]!, left, answer)
    if (answer.granted > 0) this.#standing?.changed()
    if (answer.allowed) return 0
    return this.#denied(run[answer.granted]!, decisionOf(charges, answer), answer)
  }

  #giveBack(charge: Charge, copies: number, { nowUs }: Answer): void {
    const charges = [changeCharge(charge, { cost: charge.cost * copies })]
    Promise.resolve(
      this.#owner.store.decide({ kind: 'refund', charges, takenUs: nowUs }, this.#owner.deadlineMs),
    ).catch(() => {})
  }

  /** Refuses the first one if it cannot wait for so long. */
  #denied(head: Waiter, denial: Decision, answer: Answer | undefined): number {
    const atMs = this.#owner.clock.monotonic()
    const isFirst = this.#last === undefined
    this.#last = { denial, answer, atMs }
    // Whose time was over before there was a denial to give them.
    for (const waiter of isFirst ? this.#waiters : []) {
      if (waiter !== head && waiter.untilMs <= atMs && this.#drop(waiter)) waiter.end(denial)
    }
    const waitMs = retryMs(denial)
    const canWait = denial.reason !== 'missing-key' && denial.retryAfterMs !== Infinity && head.untilMs - atMs >= waitMs
    if (canWait || !this.#waiters.has(head)) return waitMs
    this.#drop(head)
    head.end(denial)
    return 0
  }

  /** Waits until it is worth asking again, which is earlier if other limits begin to apply. */
  async #pause(head: Waiter, ms: number): Promise<void> {
    const { clock } = this.#owner
    const endMs = clock.monotonic() + ms
    const before = head.charges().enforced
    for (let leftMs = ms; leftMs > 0; leftMs = endMs - clock.monotonic()) {
      await this.#sleep(this.#owner.isDated() ? Math.min(termMs, leftMs) : leftMs)
      if (this.#isWoken) return
      const now = head.charges().enforced
      if (now.length !== before.length || now.some(({ limits }, i) => limits !== before[i]!.limits)) return
    }
  }

  #sleep(ms: number): Promise<void> {
    if (this.#isWoken) return Promise.resolve()
    const { clock } = this.#owner
    return new Promise((resolve) => {
      this.#endSleep = () => {
        this.#endSleep = undefined
        clock.clearTimeout(timer)
        resolve()
      }
      const timer = clock.setTimeout(this.#endSleep, ms)
    })
  }
}

/** When to ask again after a denial. */
function retryMs({ reason, retryAfterMs, limits }: Decision): number {
  if (reason === 'unavailable') return outageMs
  const isPermit = limits.some((limit) => limit.windowMs === 0 && limit.retryAfterMs > 0)
  return Math.max(1, isPermit ? Math.min(permitMs, retryAfterMs) : retryAfterMs)
}

/** The answer for one of those that passed, before others spent so many units. */
function passedOf(answer: Answer, unitsAfter: number): Answer {
  if (answer.allowed && unitsAfter === 0) return answer
  const statuses = answer.statuses.map((limits) =>
    limits.map((status) => ({ ...status, remaining: status.remaining + unitsAfter, retryAfterMs: 0 })),
  )
  return { ...answer, allowed: true, granted: 1, statuses }
}
