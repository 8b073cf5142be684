import type { Clock } from '../../core/clock.ts'

/** Those who wait until another process has filled a key. A message wakes them; as it can be lost, so does a timer. */
export class FillWaiters {
  readonly #clock: Clock
  readonly #waiting = new Map<string, Set<() => void>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Waits until the key was filled, at most so long. */
  wait(key: string, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(key) ?? new Set()
      const wake = (): void => {
        this.#clock.clearTimeout(timer)
        waiting.delete(wake)
        if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key)
        resolve()
      }
      const timer = this.#clock.setTimeout(wake, ms)
      waiting.add(wake)
      this.#waiting.set(key, waiting)
    })
  }

  /** Wakes those who wait for a key. */
  wake(key: string): void {
    for (const wake of [...(this.#waiting.get(key) ?? [])]) wake()
  }

  wakeAll(): void {
    for (const key of [...this.#waiting.keys()]) this.wake(key)
  }
}
