import type { Clock } from '../../core/clock.ts'

/** A time by both clocks: a suspended machine stops the monotonic one, an administrator sets the other. */
export interface Instant {
  readonly monotonicMs: number
  readonly wallMs: number
}

/** The wall clock as it is: `now()` and `coarse()` follow a step forward, as after a suspend, only after a while. */
export function wallOf(clock: Clock): () => number {
  return clock.wall ?? (() => clock.now() / 1000)
}

export function instantOf(clock: Clock): Instant {
  return { monotonicMs: clock.monotonic(), wallMs: wallOf(clock)() }
}

/** How much time has passed, by the clock that says more. A wall clock that was set back says how far. */
export function passedMs(since: Instant, monotonicMs: number, wallMs: number): number {
  return Math.max(monotonicMs - since.monotonicMs, Math.abs(wallMs - since.wallMs))
}
