import type { Clock, Timer } from '../core/clock.ts'

// Read once: as a global, `performance` is a getter, which costs more than reading the time.
const { performance } = globalThis

/** A timer that is set for longer fires at once. */
export const longestTimerMs: number = 2 ** 31 - 1

/**
 * The machine's time, read from the monotonic clock so that a step back of the wall clock never stalls or repeats a window.
 * Steps forward (also those after a suspended machine wakes) are followed within a second. While the wall clock goes on as it should,
 * it is also the coarse time: it shows steps forward at once.
 */
export function systemClock(): Clock {
  let offsetMs = Date.now() - performance.now()
  let checkAtMs = performance.now() + 1000
  let lastMs = 0
  const now = (): number => {
    const monotonicMs = performance.now()
    if (monotonicMs >= checkAtMs) {
      checkAtMs = monotonicMs + 1000
      offsetMs = Math.max(offsetMs, Date.now() - monotonicMs)
    }
    return Math.floor((monotonicMs + offsetMs) * 1000)
  }
  return {
    now,
    coarse() {
      const wallMs = Date.now()
      if (wallMs < lastMs) return now()
      lastMs = wallMs
      return wallMs * 1000
    },
    monotonic: () => performance.now(),
    setTimeout: (callback, ms) => setTimeout(callback, Math.min(longestTimerMs, Math.max(0, ms))),
    clearTimeout: (timer: Timer | undefined) => clearTimeout(timer as NodeJS.Timeout | undefined),
  }
}
