import type { HoldHandle } from '../limiter/limiter.ts'

const ttlMs = 30_000

/** The holds of requests that are being answered. They live for as long as their responses do, and not longer than a crash. */
export class OpenHolds {
  readonly #open = new Set<HoldHandle>()
  #timer: ReturnType<typeof setInterval> | undefined

  get ttlMs(): number {
    return ttlMs
  }

  add(hold: HoldHandle): void {
    this.#open.add(hold)
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
    for (const hold of this.#open) hold.extend(ttlMs).catch(ignore)
  }
}

// The limiter tells of failures of the store itself; here is nobody left to tell.
const ignore = () => {}
