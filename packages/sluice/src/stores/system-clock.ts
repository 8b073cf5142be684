import type { Clock } from '../core/clock.ts'

/**
 * The machine's time, read from the monotonic clock so that a step back of the wall clock never stalls or repeats a window.
 * Steps forward (also those after a suspended machine wakes) are followed within a second.
 */
export function systemClock(): Clock {
  let offsetMs = Date.now() - performance.now()
  let checkAt = performance.now() + 1000
  return {
    now() {
      const monotonic = performance.now()
      if (monotonic >= checkAt) {
        checkAt = monotonic + 1000
        offsetMs = Math.max(offsetMs, Date.now() - monotonic)
      }
      return Math.floor((monotonic + offsetMs) * 1000)
    },
  }
}
