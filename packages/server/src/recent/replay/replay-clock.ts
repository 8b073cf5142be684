import type { LimiterOptions } from 'sluice'

type Clock = NonNullable<LimiterOptions['clock']>

/** A clock that shows the time of the request that is replayed. Nothing waits in a replay, so no timer ever fires. */
export interface ReplayClock extends Clock {
  /** Moves on, never back: two requests may have been noted out of order. */
  moveTo(ms: number): void
}

export function replayClock(startMs: number): ReplayClock {
  let nowMs = startMs
  return {
    now: () => Math.round(nowMs * 1000),
    wall: () => nowMs,
    monotonic: () => nowMs - startMs,
    setTimeout: () => ({ unref: () => undefined }),
    clearTimeout: () => {},
    moveTo(ms) {
      nowMs = Math.max(nowMs, ms)
    },
  }
}
