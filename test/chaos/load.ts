import type { Decision } from '../../packages/sluice/src/limiter/decision/decision.ts'
import type { Limiter } from '../../packages/sluice/src/limiter/limiter.ts'
import { sharedAmount } from './policy.ts'
import { Stalls } from './stalls.ts'

/** The result of one decision on a separate subject. */
export interface Once {
  readonly subject: string
  /** On the wall clock, which is Redis' too: all runs on one machine. */
  readonly deadlineMs: number
  outcome: 'open' | 'admitted' | 'denied' | 'degraded'
}

export interface LoadOptions {
  readonly deadlineMs: number
  /** How many callers run at the same time. */
  readonly workers?: number
  readonly pauseMs?: number
}

/** Decides without pause, each time for a separate subject and for one that many share, and records every answer. */
export class Load {
  readonly once: Once[] = []
  /** What was admitted of each shared subject. */
  readonly shared = new Map<string, number>()
  readonly failures = new Map<string, number>()
  decisions = 0
  degraded = 0
  unsettled = 0
  /** When the first decision that started after `watchMs` was exact, on the monotonic clock. */
  exactMs = Infinity
  #watchMs = Infinity
  readonly #limiter: Limiter
  readonly #options: LoadOptions
  readonly #stalls = new Stalls()
  /** Decisions that settled after their deadline. */
  readonly #late: { readonly deadlineMs: number; readonly endMs: number }[] = []
  #epoch = 0
  #sharedAsked = 0
  #stopped = true
  #workers: Promise<void>[] = []

  constructor(limiter: Limiter, options: LoadOptions) {
    this.#limiter = limiter
    this.#options = options
  }

  start(): this {
    const { workers = 40, pauseMs = 10 } = this.#options
    this.#stopped = false
    this.#stalls.start()
    this.#workers = Array.from({ length: workers }, async (_, w) => {
      await pause((w * pauseMs) / workers)
      while (!this.#stopped) {
        await Promise.all([this.takeOnce(), this.takeShared()])
        await pause(pauseMs)
      }
    })
    return this
  }

  /** Ends the load. A decision that has not settled long after its deadline never will. */
  async stop(): Promise<void> {
    this.#stopped = true
    const graceMs = this.#options.deadlineMs + 2000
    await Promise.race([Promise.all(this.#workers), pause(graceMs)])
    this.#stalls.stop()
  }

  /** How long after its deadline the latest decision settled, less the time in which the machine ran something else. */
  get worstOverMs(): number {
    return this.#late.reduce(
      (worst, { deadlineMs, endMs }) => Math.max(worst, endMs - deadlineMs - this.#stalls.within(deadlineMs, endMs)),
      0,
    )
  }

  /** Watches for the first exact decision from now on. */
  watchForExact(): void {
    this.#watchMs = performance.now()
    this.exactMs = Infinity
  }

  /** The counters are lost on purpose: from now on other subjects are used. */
  forget(): void {
    this.#epoch += 1
    this.#sharedAsked = 0
  }

  /**
   * Thousands of these wait at the same time: with an async function each, the load itself would keep the garbage
   * collector busy.
   */
  takeOnce(): Promise<void> {
    const subject = `e${this.#epoch}-${this.once.length}`
    const entry: Once = { subject, deadlineMs: Date.now() + this.#options.deadlineMs, outcome: 'open' }
    this.once.push(entry)
    const startMs = this.#asked()
    return this.#limiter.take(subject, { rule: 'once' }).then((decision) => {
      this.#answered(decision, startMs)
      entry.outcome = decision.degraded ? 'degraded' : decision.allowed ? 'admitted' : 'denied'
    })
  }

  async takeShared(): Promise<void> {
    const subject = `e${this.#epoch}-s${Math.floor(this.#sharedAsked++ / (2 * sharedAmount))}`
    const startMs = this.#asked()
    const decision = await this.#limiter.take(subject, { rule: 'shared' })
    this.#answered(decision, startMs)
    if (decision.allowed && !decision.degraded) this.shared.set(subject, (this.shared.get(subject) ?? 0) + 1)
  }

  #asked(): number {
    this.decisions += 1
    this.unsettled += 1
    return performance.now()
  }

  #answered(decision: Decision, startMs: number): void {
    this.unsettled -= 1
    const endMs = performance.now()
    const deadlineMs = startMs + this.#options.deadlineMs
    if (endMs > deadlineMs) this.#late.push({ deadlineMs, endMs })
    if (decision.degraded) {
      this.degraded += 1
      this.failures.set(decision.failure!, (this.failures.get(decision.failure!) ?? 0) + 1)
    } else if (startMs >= this.#watchMs && this.exactMs === Infinity) this.exactMs = endMs
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
