import type { Clock, Timer } from '../core/clock.ts'

// Read once: as a global, `performance` is a getter, which costs more than reading the time.
const { performance } = globalThis

/** A timer that is set for longer fires at once. */
export const longestTimerMs: number = 2 ** 31 - 1

/** What a system clock reads; both in milliseconds. */
export interface MachineClocks {
  wall(): number
  monotonic(): number
}

/** A wall clock that is ahead by more than this has stepped; by less, it only runs a little faster. */
const stepMs = 1000
/** How long a step forward has to last until it is followed. */
const confirmMs = 1000

const machine: MachineClocks = { wall: () => Date.now(), monotonic: () => performance.now() }

/**
 * The machine's time. It is read from the monotonic clock, so that a step back of the wall clock never stalls or
 * repeats a window. A step forward (as after a suspended machine wakes) is followed once it has lasted a second: a wall
 * clock that is wrong for a moment must not begin windows in the future. While the wall clock goes on as it should, it
 * is also the coarse time.
 */
export function systemClock(clocks: MachineClocks = machine): Clock {
  const { wall, monotonic } = clocks
  let offsetMs = wall() - monotonic()
  let checkAtMs = monotonic() + confirmMs
  /** Since when the wall clock has been a step ahead. */
  let steppedMs: number | undefined
  let lastMs = 0

  /** The time, after a look at the wall clock. */
  const follow = (monotonicMs: number, wallMs: number): number => {
    const aheadMs = wallMs - monotonicMs - offsetMs
    if (aheadMs > stepMs && steppedMs === undefined) steppedMs = monotonicMs
    else if (aheadMs <= stepMs || monotonicMs - steppedMs! >= confirmMs) {
      steppedMs = undefined
      offsetMs += Math.max(0, aheadMs)
    }
    return monotonicMs + offsetMs
  }

  return {
    now() {
      const monotonicMs = monotonic()
      if (monotonicMs >= checkAtMs) {
        checkAtMs = monotonicMs + confirmMs
        follow(monotonicMs, wall())
      }
      return Math.floor((monotonicMs + offsetMs) * 1000)
    },
    coarse() {
      const wallMs = wall()
      if (wallMs >= lastMs && wallMs < lastMs + stepMs) {
        lastMs = wallMs
        steppedMs = undefined
        return wallMs * 1000
      }
      // Nobody asked for a while, or the wall clock stepped.
      const timeMs = Math.floor(follow(monotonic(), wallMs))
      const isSteady = wallMs >= lastMs && Math.abs(wallMs - timeMs) <= stepMs
      lastMs = Math.max(lastMs, isSteady ? wallMs : timeMs)
      return lastMs * 1000
    },
    wall,
    monotonic,
    setTimeout: (callback, ms) => setTimeout(callback, Math.min(longestTimerMs, Math.max(0, ms))),
    clearTimeout: (timer: Timer | undefined) => clearTimeout(timer as NodeJS.Timeout | undefined),
  }
}
