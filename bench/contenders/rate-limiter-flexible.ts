import { Redis } from 'ioredis'
import { RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible'
import type { Contender, Setup } from './contender.ts'

/** One `RateLimiterRedis`, or a `RateLimiterUnion` of several. A denial rejects. */
export async function open({ redisUrl, prefix, limits, denyCache }: Setup): Promise<Contender> {
  const client = new Redis(redisUrl)
  const limiters = limits.map(
    ({ amount, seconds }) =>
      new RateLimiterRedis({
        storeClient: client,
        keyPrefix: `${prefix}-${seconds}`,
        points: amount,
        duration: seconds,
        ...(denyCache ? { inMemoryBlockOnConsumed: amount } : {}),
      }),
  )
  const only = limiters.length === 1 ? limiters[0]! : new RateLimiterUnion(...limiters)
  return {
    decide: (subject) => only.consume(subject, 1),
    allowed: () => true,
    async close() {
      client.disconnect()
    },
  }
}
