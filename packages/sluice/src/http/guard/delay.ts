import type { Clock } from '../../core/clock.ts'
import type { Admission } from '../../limiter/limiter.ts'
import { sleep } from '../../runtime/sleep.ts'

/** Asks again until the request passes, the time is up, or the client is gone. */
export type Delay = (
  denied: Admission,
  again: () => Promise<Admission | undefined> | undefined,
  gone: AbortSignal | undefined,
) => Promise<Admission>

/** Lets denied requests wait for their turn: at most `maxDelayed` at a time, each for `maxDelayMs` in all. */
export function delays(maxDelayMs: number, maxDelayed: number, clock: Clock): Delay {
  let waiting = 0
  return async function delay(denied, again, gone) {
    if (waiting >= maxDelayed) return denied
    const deadline = clock.monotonic() + maxDelayMs
    let answer = denied
    waiting++
    try {
      for (;;) {
        const { allowed, reason, retryAfterMs } = answer.decision
        const ms = Math.max(1, retryAfterMs)
        if (allowed || reason !== 'quota' || clock.monotonic() + ms > deadline) return answer
        const isGone = await sleep(ms, clock, gone).then(
          () => false,
          () => true,
        )
        if (isGone) return answer
        answer = (await again()) ?? answer
      }
    } finally {
      waiting--
    }
  }
}
