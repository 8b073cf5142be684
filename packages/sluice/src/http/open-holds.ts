import type { HoldHandle } from '../limiter/limiter.ts'

const ttlMs = 30_000
/** The longest that a response is believed to take; after that its hold is left to expire. */
const longestMs = 24 * 3_600_000

/**
 * The holds of requests that are being answered. They live for as long as their responses do, and not longer than a
 * crash.
 */
export class OpenHolds {
  /** By hold: when its request came. */
  readonly #open = new Map<HoldHandle, number>()
  #timer: ReturnType<typeof setInterval> | undefined

  get ttlMs(): number {
    return ttlMs
  }

  add(hold: HoldHandle): void {
    this.#open.set(hold, performance.now())
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => this.#extend(), ttlMs / 3)
    ;(this.#timer as { unref?: () => void }).unref?.()
  }

  /** Ends a hold as `how` says. A store that fails here gives the units back when the hold expires. */
  end(hold: HoldHandle, how: (hold: HoldHandle) => Promise<boolean>): void {
    if (!this.#open.delete(hold)) return
    if (this.#open.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
    }
    how(hold).catch(ignore)
  }

  #extend(): void {
    const oldest = performance.now() - longestMs
    for (const [hold, startMs] of this.#open) {
      if (startMs < oldest) this.#open.delete(hold)
      else hold.extend(ttlMs).catch(ignore)
    }
  }
}

// The limiter tells of failures of the store itself; here is nobody left to tell.
const ignore = () => {}
