import type { Clock, Timer } from '../core/clock.ts'
import { type Duration, parseDuration } from '../core/duration.ts'

/**
 * What `setTimeout` of a virtual clock returns; `ref` and `unref` are there because callers of Node timers use them.
 */
export interface VirtualTimer extends Timer {
  ref(): VirtualTimer
  unref(): VirtualTimer
}

/** A clock that stands still until it is moved. */
export interface VirtualClock extends Clock {
  /**
   * Moves time forward and fires the timers that fall due, in order; all that they started in microtasks runs before
   * the next one.
   */
  advance(duration: Duration): Promise<void>
  /** Only moves time (also the wall clock backwards): no timer fires until the next `advance`. */
  tick(duration: Duration): void
  /**
   * Steps the wall clock to a moment in milliseconds since the epoch (also backwards). Monotonic time and timers stay.
   */
  set(ms: number): void
  setTimeout<A extends unknown[]>(callback: (...args: A) => void, ms?: number, ...args: A): VirtualTimer
  clearTimeout(timer: Timer | undefined): void
  /** How many timers are waiting. */
  readonly pending: number
}

interface Entry extends VirtualTimer {
  readonly dueUs: number
  readonly fire: () => void
}

// Taken at load, so that a test that replaces the global timers cannot stop the clock.
const { setImmediate } = globalThis

/**
 * A clock for tests, at the start of 2026 unless another time is given.
 *
 * @example
 * const clock = virtualClock()
 * clock.setTimeout(() => console.log('one second later'), 1000)
 * await clock.advance('1s')
 */
export function virtualClock(startMs: number = Date.UTC(2026, 0, 1)): VirtualClock {
  let nowUs = micros(startMs)
  // Timers and `monotonic` do not follow steps of the wall clock.
  let monotonicUs = 0
  const pass = (us: number): void => {
    nowUs += us
    monotonicUs += Math.max(0, us)
  }
  // In order of firing: by due time, and by order of setting among equals.
  const timers: Entry[] = []

  return {
    now: () => nowUs,
    wall: () => nowUs / 1000,
    monotonic: () => monotonicUs / 1000,
    get pending() {
      return timers.length
    },
    async advance(duration) {
      const step = parse(duration)
      if (step < 0) throw new RangeError(`advance(${duration}): time advances forward only; use set() to step back`)
      const endUs = monotonicUs + step
      // What the caller set in motion just before may still be about to set a timer.
      await settle()
      for (let next = timers[0]; next !== undefined && next.dueUs <= endUs; next = timers[0]) {
        timers.shift()
        pass(Math.max(0, next.dueUs - monotonicUs))
        next.fire()
        await settle()
      }
      pass(Math.max(0, endUs - monotonicUs))
    },
    tick(duration) {
      pass(parse(duration))
    },
    set(ms) {
      nowUs = micros(ms)
    },
    setTimeout(callback, ms = 0, ...args) {
      const entry: Entry = {
        // Like Node: what is no positive number is one millisecond.
        dueUs: monotonicUs + micros(Math.max(ms || 1, 1)),
        fire: () => callback(...args),
        ref: () => entry,
        unref: () => entry,
      }
      const at = timers.findIndex((other) => other.dueUs > entry.dueUs)
      timers.splice(at === -1 ? timers.length : at, 0, entry)
      return entry
    },
    clearTimeout(timer) {
      const at = timers.indexOf(timer as Entry)
      if (at !== -1) timers.splice(at, 1)
    },
  }
}

/** A turn of the event loop: every microtask queued by now has run after it, however long its chain. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function micros(ms: number): number {
  const us = Math.round(ms * 1000)
  if (!Number.isSafeInteger(us)) throw new RangeError(`${ms} is no time in milliseconds`)
  return us
}

/** Unlike elsewhere, a number may have a fraction here: tests step by microseconds. */
function parse(duration: Duration): number {
  return micros(typeof duration === 'number' ? duration : parseDuration(duration, 'duration'))
}
