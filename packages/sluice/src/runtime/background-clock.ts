import type { Clock } from '../core/clock.ts'

/** The same clock, with timers that do not keep the process alive. */
export function backgroundClock(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    setTimeout(callback, ms) {
      const timer = clock.setTimeout(callback, ms)
      timer.unref?.()
      return timer
    },
    clearTimeout: (timer) => clock.clearTimeout(timer),
  }
}
