import type { Clock } from '../core/clock.ts'
import { every } from '../runtime/every.ts'

interface Group {
  readonly renewals: Set<() => void>
  readonly stop: () => void
}

/**
 * Renews what this process holds for as long as it holds it, so that nothing expires under work that takes long. What
 * is no longer renewed expires: of a process that has died, and of a handle that nobody has any more.
 */
export class Renewals {
  readonly #clock: Clock
  /** By how long the holds live without being renewed. */
  readonly #groups = new Map<number, Group>()
  /** Undefined in workers that have none: there a hold is renewed until it is settled or the limiter is closed. */
  readonly #forgotten =
    typeof FinalizationRegistry === 'undefined' ? undefined : new FinalizationRegistry<() => void>((stop) => stop())

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls `renew` three times in `ttlMs`, until the returned function is called. */
  add(ttlMs: number, renew: () => void): () => void {
    const group = this.#groups.get(ttlMs) ?? this.#newGroup(ttlMs)
    group.renewals.add(renew)
    return () => {
      if (!group.renewals.delete(renew) || group.renewals.size > 0) return
      group.stop()
      this.#groups.delete(ttlMs)
    }
  }

  /** Calls `stop` when nobody has the handle any more. */
  whenForgotten(handle: object, stop: () => void): void {
    this.#forgotten?.register(handle, stop)
  }

  close(): void {
    for (const { stop } of this.#groups.values()) stop()
    this.#groups.clear()
  }

  #newGroup(ttlMs: number): Group {
    const renewals = new Set<() => void>()
    const renewAll = (): void => {
      for (const renew of [...renewals]) renew()
    }
    const group = { renewals, stop: every(ttlMs / 3, this.#clock, renewAll) }
    this.#groups.set(ttlMs, group)
    return group
  }
}
