import { setImmediate } from 'node:timers/promises'

/** Batches in flight may together have this many times the charges of the largest one. */
const largestInFlight = 4

/**
 * Bounds the work of batches. A portion of one is decided at a time, in turn with those of others, and requests that
 * ask for a single decision come in between: a deadline begins when a check is decided, so none is lost by waiting.
 */
export class BatchWork {
  /** Most charges of one batch. */
  readonly maxCharges: number
  #inFlight = 0
  #turn: Promise<unknown> = Promise.resolve()

  constructor(maxCharges: number) {
    this.maxCharges = maxCharges
  }

  /** Whether there is room for so many charges more; if so, `leave` must be called for them. */
  enter(charges: number): boolean {
    if (this.#inFlight > 0 && this.#inFlight + charges > this.maxCharges * largestInFlight) return false
    this.#inFlight += charges
    return true
  }

  leave(charges: number): void {
    this.#inFlight -= charges
  }

  /** Does a portion of work after all that were asked for before, and after what came in meanwhile. */
  inTurn<T>(portion: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(() => setImmediate()).then(portion)
    this.#turn = turn.catch(() => undefined)
    return turn
  }
}
