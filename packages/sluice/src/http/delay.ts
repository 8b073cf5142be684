import type { Admission } from '../limiter/limiter.ts'

/** Asks again until the request passes, the time is up, or the client is gone. */
export type Delay = (
  denied: Admission,
  again: () => Promise<Admission | undefined> | undefined,
  gone: AbortSignal | undefined,
) => Promise<Admission>

/** Lets denied requests wait for their turn: at most `maxDelayed` at a time, each for `maxDelayMs` in all. */
export function delays(maxDelayMs: number, maxDelayed: number): Delay {
  let waiting = 0
  return async function delay(denied, again, gone) {
    if (waiting >= maxDelayed) return denied
    const deadline = performance.now() + maxDelayMs
    let answer = denied
    waiting++
    try {
      for (;;) {
        const { allowed, reason, retryAfterMs } = answer.decision
        const ms = Math.max(1, retryAfterMs)
        if (allowed || reason !== 'quota' || performance.now() + ms > deadline) return answer
        if (!(await pause(ms, gone))) return answer
        answer = (await again()) ?? answer
      }
    } finally {
      waiting--
    }
  }
}

/** False when the client was gone before the time was up. */
function pause(ms: number, gone: AbortSignal | undefined): Promise<boolean> {
  if (gone?.aborted) return Promise.resolve(false)
  return new Promise((resolve) => {
    const end = (isOver: boolean) => {
      clearTimeout(timer)
      gone?.removeEventListener('abort', onGone)
      resolve(isOver)
    }
    const onGone = () => end(false)
    const timer = setTimeout(end, ms, true)
    gone?.addEventListener('abort', onGone, { once: true })
  })
}
