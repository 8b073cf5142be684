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
  readonly onChange?: (state: 'up' | 'down', error?: unknown) => void
}

/**
 * Whether a dependency is answering. Its users report how their calls end; after some failures in a row it is down, and
 * is probed, with waits that grow, until it answers. For calls that are refused meanwhile and serve as probes
 * themselves there is `Circuit`.
 */
export class Reachability {
  readonly #options: ReachabilityOptions
  #failures = 0
  #attempts = 0
  #isDown = false
  #isClosed = false
  #timer: Timer | undefined

  constructor(options: ReachabilityOptions) {
    this.#options = options
  }

  get isDown(): boolean {
    return this.#isDown
  }

  answered(): void {
    this.#failures = 0
    this.#attempts = 0
    if (!this.#isDown) return
    this.#isDown = false
    this.#unschedule()
    this.#options.onChange?.('up')
  }

  /** While a probe is scheduled, further failures are those of older calls and change nothing. */
  failed(error?: unknown): void {
    this.#failures += 1
    if (this.#isClosed || this.#timer !== undefined || this.#failures < (this.#options.failures ?? 1)) return
    const wasDown = this.#isDown
    this.#isDown = true
    this.#schedule()
    if (!wasDown) this.#options.onChange?.('down', error)
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

  #schedule(): void {
    const { clock, random, backoff } = this.#options
    this.#timer = clock.setTimeout(() => this.probeNow(), Math.ceil(backoffMs(this.#attempts++, random, backoff)))
  }

  #unschedule(): void {
    this.#options.clock.clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
