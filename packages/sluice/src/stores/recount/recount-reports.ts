import type { Clock, Timer } from '../../core/clock.ts'
import type { Charge } from '../../core/engine/ask.ts'
import type { KnownSubjects } from './known-subjects.ts'

/** How long to wait before writing again to the store what was admitted without it. */
const reportMs = 500
/** How many subjects are reported at once, so that a store that comes back is not flooded. */
const reportsAtOnce = 64

/**
 * Writes to the store what was admitted without it, so that other replicas need not wait for the next request of a
 * subject to see it.
 */
export class RecountReports {
  readonly #subjects: KnownSubjects
  readonly #clock: Clock
  readonly #report: (charge: Charge, endMs: number) => Promise<void>
  #timer: Timer | undefined
  #closed = false

  constructor(subjects: KnownSubjects, clock: Clock, report: (charge: Charge, endMs: number) => Promise<void>) {
    this.#subjects = subjects
    this.#clock = clock
    this.#report = report
  }

  /** There may be something to report. */
  later(): void {
    if (this.#timer !== undefined || this.#closed) return
    this.#timer = this.#clock.setTimeout(() => {
      void this.#reportSome().then(() => {
        this.#timer = undefined
        if (this.#subjects.unreported(this.#clock.now()).length > 0) this.later()
      })
    }, reportMs)
    this.#timer.unref?.()
  }

  /** Reports once more what is left. */
  async close(): Promise<void> {
    this.#closed = true
    this.#clock.clearTimeout(this.#timer)
    await this.#reportSome()
  }

  async #reportSome(): Promise<void> {
    const some = this.#subjects.unreported(this.#clock.now()).slice(0, reportsAtOnce)
    const endMs = this.#clock.monotonic() + reportMs
    await Promise.allSettled(some.map(({ charge }) => this.#report(charge, endMs)))
  }
}
