import type { Clock, Timer } from '../../core/clock.ts'
import { SingleFlight } from '../../runtime/single-flight.ts'
import type { FlushReport } from './flush-run.ts'

/** Runs passes one at a time: at an interval, and on request. */
export class FlushLoop {
  readonly #clock: Clock
  readonly #intervalMs: number | undefined
  readonly #pass: () => Promise<FlushReport>
  readonly #passes = new SingleFlight<'pass', FlushReport>()
  /** The pass that was asked for last. */
  #last: Promise<unknown> | undefined
  #timer: Timer | undefined
  #closed = false

  constructor(clock: Clock, intervalMs: number | undefined, pass: () => Promise<FlushReport>) {
    this.#clock = clock
    this.#intervalMs = intervalMs
    this.#pass = pass
  }

  start(): void {
    this.#later(0)
  }

  /** A pass that begins now, or after the current one: that may have begun before the caller's events were stored. */
  run(): Promise<FlushReport> {
    const pass = this.#passes.startLater('pass', this.#pass)
    this.#last = pass
    return pass
  }

  /** Waits for the pass in progress; no other begins by itself. */
  async close(): Promise<void> {
    this.#closed = true
    this.#clock.clearTimeout(this.#timer)
    await this.#last?.catch(() => undefined)
  }

  /** A pass that took longer than the interval is followed by another at once: events have arrived meanwhile. */
  #later(tookMs: number): void {
    if (this.#closed || this.#intervalMs === undefined) return
    const restMs = Math.max(1, this.#intervalMs - tookMs)
    this.#timer = this.#clock.setTimeout(() => this.#begin(), restMs)
    this.#timer.unref?.()
  }

  #begin(): void {
    const startedMs = this.#clock.monotonic()
    const again = (): void => this.#later(this.#clock.monotonic() - startedMs)
    this.run().then(again, again)
  }
}
