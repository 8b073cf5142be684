import { RateLimiterMemory, RateLimiterUnion } from 'rate-limiter-flexible'
import type { Contender, Setup } from './contender.ts'

/** One `RateLimiterMemory`, or a `RateLimiterUnion` of several. A denial rejects. */
export async function open({ prefix, limits }: Setup): Promise<Contender> {
  const limiters = limits.map(
    ({ amount, seconds }) =>
      new RateLimiterMemory({ keyPrefix: `${prefix}-${seconds}`, points: amount, duration: seconds }),
  )
  const only = limiters.length === 1 ? limiters[0]! : new RateLimiterUnion(...limiters)
  return { decide: (subject) => only.consume(subject, 1), allowed: () => true, async close() {} }
}
