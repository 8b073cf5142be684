import type { Clock } from '../core/clock.ts'
import { LinkedQueue } from '../core/linked-queue.ts'
import { onAbort } from './on-abort.ts'

export interface GateOptions {
  /** How many may be inside at a time. */
  readonly limit: number
  /** How many may wait, first in first out; those beyond are refused at once. */
  readonly queue: number
  /** How long one may wait. Without it, there is no bound. */
  readonly maxWaitMs?: number | undefined
  readonly clock: Clock
  /** The error for who is refused. */
  readonly refusal: (why: 'full' | 'late') => Error
}

/**
 * Lets so many in at a time; the others wait for their turn. Who was let in, by `tryEnter` or after `turn`, calls
 * `leave` once, whatever became of the work.
 */
export class Gate {
  readonly #options: GateOptions
  readonly #waiting = new LinkedQueue<() => void>()
  #inside = 0

  constructor(options: GateOptions) {
    this.#options = options
  }

  get inside(): number {
    return this.#inside
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Whether there is room: then the caller is inside. */
  tryEnter(): boolean {
    if (this.#inside >= this.#options.limit) return false
    this.#inside += 1
    return true
  }

  /** Resolves when one that leaves has handed over its turn. Rejects when the queue is full, too slow, or on abort. */
  turn(signal?: AbortSignal): Promise<void> {
    const { queue, maxWaitMs, clock, refusal } = this.#options
    if (this.#waiting.size >= queue) return Promise.reject(refusal('full'))
    return new Promise((resolve, reject) => {
      const end = (): void => {
        clock.clearTimeout(timer)
        removeListener()
      }
      const leaveQueue = this.#waiting.push(() => {
        end()
        resolve()
      })
      const giveUp = (error: unknown): void => {
        end()
        leaveQueue()
        reject(error)
      }
      const expire = (): void => giveUp(refusal('late'))
      const timer = maxWaitMs === undefined ? undefined : clock.setTimeout(expire, maxWaitMs)
      const removeListener = onAbort(signal, () => giveUp(signal!.reason))
    })
  }

  /** Hands the turn over to the first who waits. */
  leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#inside -= 1
  }
}
