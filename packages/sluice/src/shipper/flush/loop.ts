import type { Clock, Timer } from '../../core/clock.ts'
import type { FlushReport } from './flush-run.ts'

/** Runs passes one at a time: at an interval, and on request. */
export class FlushLoop {
  readonly #clock: Clock
  readonly #intervalMs: number | undefined
  readonly #pass: () => Promise<FlushReport>
  #running: Promise<FlushReport> | undefined
  #queued: Promise<FlushReport> | undefined
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
    if (this.#running === undefined) {
      this.#running = this.#pass().finally(() => {
        this.#running = undefined
      })
      return this.#running
    }
    this.#queued ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#queued = undefined
        return this.run()
      })
    return this.#queued
  }

  /** Waits for the pass in progress; no other begins by itself. */
  async close(): Promise<void> {
    this.#closed = true
    this.#clock.clearTimeout(this.#timer)
    await (this.#queued ?? this.#running)?.catch(() => undefined)
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
