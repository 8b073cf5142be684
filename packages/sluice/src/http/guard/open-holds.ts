import type { Clock } from '../../core/clock.ts'
import type { HoldHandle } from '../../limiter/limiter.ts'
import { every } from '../../runtime/every.ts'

const ttlMs = 30_000
/** The longest time a response may take; after that its hold is left to expire. */
const longestMs = 24 * 3_600_000

/**
 * The holds of requests that are being answered. They live for as long as their responses do, and not longer than a
 * crash.
 */
export class OpenHolds {
  /** By hold: when its request came. */
  readonly #open = new Map<HoldHandle, number>()
  readonly #clock: Clock
  #stop: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get ttlMs(): number {
    return ttlMs
  }

  add(hold: HoldHandle): void {
    this.#open.set(hold, this.#clock.monotonic())
    this.#stop ??= every(ttlMs / 3, this.#clock, () => this.#extend())
  }

  /** Ends a hold as `how` says. A store that fails here gives the units back when the hold expires. */
  end(hold: HoldHandle, how: (hold: HoldHandle) => Promise<boolean>): void {
    if (!this.#open.delete(hold)) return
    this.#stopIfNone()
    how(hold).catch(ignore)
  }

  #stopIfNone(): void {
    if (this.#open.size > 0) return
    this.#stop?.()
    this.#stop = undefined
  }

  #extend(): void {
    const oldest = this.#clock.monotonic() - longestMs
    for (const [hold, startMs] of this.#open) {
      if (startMs < oldest) this.#open.delete(hold)
      else hold.extend(ttlMs).catch(ignore)
    }
    this.#stopIfNone()
  }
}

// The limiter reports failures of the store as events; no caller waits for this.
const ignore = () => {}
