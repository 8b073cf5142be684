import { type BackoffOptions, backoffMs } from '../core/backoff.ts'
import type { Clock, Timer } from '../core/clock.ts'

export interface ReachabilityOptions {
  /** With a `backgroundClock`, probing does not keep the process alive. */
  readonly clock: Clock
  /** A number from 0 to 1, for the jitter of the waits. */
  readonly random: () => number
  /** Asks it again while it is down. The outcome is reported like any other. */
  readonly probe: () => void
  /** After how many failures in a row it counts as down. 1 by default. */
  readonly failures?: number
  /** How long to wait before each probe. */
  readonly backoff?: BackoffOptions
}

/**
 * Whether a dependency is answering. Its users report how their calls end; after some failures in a row it is down, and
 * is probed, with waits that grow, until it answers. For calls that are refused meanwhile and serve as probes
 * themselves there is `Circuit`.
 */
export class Reachability {
  readonly #options: ReachabilityOptions
  readonly #limit: number
  /** In a row. Beyond the limit, how often it was probed in vain. */
  #failures = 0
  #isClosed = false
  #timer: Timer | undefined

  constructor(options: ReachabilityOptions) {
    this.#options = options
    this.#limit = options.failures ?? 1
  }

  get isDown(): boolean {
    return this.#failures >= this.#limit
  }

  /** A call was answered. True when it was down until now. */
  answered(): boolean {
    const wasDown = this.isDown
    this.#failures = 0
    this.#unschedule()
    return wasDown
  }

  /**
   * A call failed. True when it is down from now on. While a probe is scheduled, failures are those of older calls and
   * change nothing.
   */
  failed(): boolean {
    if (this.#isClosed || this.#timer !== undefined) return false
    this.#failures += 1
    const attempt = this.#failures - this.#limit
    const { clock, random, backoff } = this.#options
    if (attempt >= 0) this.#timer = clock.setTimeout(() => this.probeNow(), backoffMs(attempt, random, backoff))
    return attempt === 0
  }

  /** It is known to be down, however many calls have failed. True when it is down from now on. */
  lost(): boolean {
    if (this.isDown) return false
    this.#failures = this.#limit - 1
    return this.failed()
  }

  /** Does not wait for the next probe. */
  probeNow(): void {
    if (this.#isClosed) return
    this.#unschedule()
    this.#options.probe()
  }

  close(): void {
    this.#isClosed = true
    this.#unschedule()
  }

  #unschedule(): void {
    this.#options.clock.clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
