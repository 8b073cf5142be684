import type { Clock, Timer } from '../../core/clock.ts'

interface Waiting {
  readonly enter: () => void
  timer: Timer | undefined
  left: boolean
}

/**
 * Bounds how many fetches of one source run at a time. A fetch that waits too long is refused, so that a slow database,
 * or one that receives every miss, gets no more load than it can take.
 */
export class FetchGate {
  readonly #clock: Clock
  readonly #max: number
  readonly #queueMs: number
  readonly #waiting: Waiting[] = []
  #running = 0

  constructor(max: number, queueMs: number, clock: Clock) {
    this.#max = max
    this.#queueMs = queueMs
    this.#clock = clock
  }

  get idle(): boolean {
    return this.#running === 0 && this.#waiting.length === 0
  }

  /** Resolves to true when a fetch may start; false when it could not start in time. */
  enter(): Promise<boolean> {
    if (this.#running < this.#max) {
      this.#running += 1
      return Promise.resolve(true)
    }
    return new Promise((resolve) => {
      const waiting: Waiting = { enter: () => resolve(true), timer: undefined, left: false }
      waiting.timer = this.#clock.setTimeout(() => {
        waiting.left = true
        resolve(false)
        this.#trim()
      }, this.#queueMs)
      this.#waiting.push(waiting)
    })
  }

  /** A fetch that was admitted has ended. */
  leave(): void {
    this.#trim()
    const next = this.#waiting.shift()
    if (next === undefined) {
      this.#running -= 1
      return
    }
    this.#clock.clearTimeout(next.timer)
    next.enter()
  }

  #trim(): void {
    while (this.#waiting[0]?.left) this.#waiting.shift()
  }
}
