import type { Clock } from '../core/clock.ts'

/**
 * The machine's time, read from the monotonic clock so that a step back of the wall clock never stalls or repeats a window.
 * Steps forward (also those after a suspended machine wakes) are followed within a second.
 */
export function systemClock(): Clock {
  let offsetUs = Date.now() * 1000 - monotonicUs()
  let checkAtUs = monotonicUs() + 1_000_000
  return {
    now() {
      const nowUs = monotonicUs()
      if (nowUs >= checkAtUs) {
        checkAtUs = nowUs + 1_000_000
        offsetUs = Math.max(offsetUs, Date.now() * 1000 - nowUs)
      }
      return Math.floor(nowUs + offsetUs)
    },
  }
}

/** `process.hrtime` is the cheapest monotonic clock that Node has. */
function monotonicUs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000_000 + nanoseconds / 1000
}
