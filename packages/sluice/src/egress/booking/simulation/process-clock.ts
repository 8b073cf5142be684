import type { Clock, Timer } from '../../../core/clock.ts'

/** The clock of a simulated process: it drifts, and stands still for its timers while the process is stopped. */
export class ProcessClock implements Clock {
  readonly #base: Clock
  readonly #drift: number
  readonly #startMs: number
  /** No timer fires before this, in true time. */
  stoppedUntilMs = 0
  isDead = false

  constructor(base: Clock, drift: number, startMs: number) {
    this.#base = base
    this.#drift = drift
    this.#startMs = startMs
  }

  now(): number {
    return this.#base.now()
  }

  monotonic(): number {
    return this.#base.monotonic() * this.#drift + this.#startMs
  }

  setTimeout(callback: () => void, ms: number): Timer {
    const timer: { inner?: Timer } & Timer = { unref: () => undefined }
    const run = (): void => {
      if (this.isDead) return
      const leftMs = this.stoppedUntilMs - this.#base.monotonic()
      if (leftMs <= 0) callback()
      else timer.inner = this.#base.setTimeout(run, leftMs + 0.1)
    }
    timer.inner = this.#base.setTimeout(run, ms / this.#drift)
    return timer
  }

  clearTimeout(timer: Timer | undefined): void {
    this.#base.clearTimeout((timer as { inner?: Timer } | undefined)?.inner)
  }

  /** Resolves after so long, once the process runs. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.setTimeout(resolve, ms)
    })
  }
}
