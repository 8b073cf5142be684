/** A timer of a `Clock`. Timers of Node fit; elsewhere `unref` may be missing. */
export interface Timer {
  /** Lets the process exit although the timer is pending. */
  unref?(): unknown
}

/**
 * Where time comes from. Everything that reads time or waits takes one, so that tests and simulations control it.
 */
export interface Clock {
  /** Microseconds since the epoch, as an integer: small enough to be exact until the year 2255. */
  now(): number
  /** The same time, at least to the millisecond, where that can be had more cheaply. */
  coarse?(): number
  /**
   * Milliseconds since the epoch by the wall clock as it is, steps included: shows at once that a machine was
   * suspended.
   */
  wall?(): number
  /** Milliseconds from an arbitrary start, with fractions. Never steps back, whatever happens to the wall clock. */
  monotonic(): number
  /** Runs the callback once after at least `ms`. */
  setTimeout(callback: () => void, ms: number): Timer
  clearTimeout(timer: Timer | undefined): void
}

/** The part of a clock that reads time, for code that never waits. */
export type TimeSource = Pick<Clock, 'now' | 'coarse'>
