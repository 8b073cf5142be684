import { expect, test } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'

test('says to come back within a second, as a permit may come back at any time, or sooner when one expires', async () => {
  const clock = virtualClock()
  const limiter = await createLimiter({ limits: { amount: 1, algorithm: 'concurrency' }, clock })
  await limiter.acquire('k', { ttl: '60s', renew: false })
  const retryAfterMs = async () => (await limiter.acquire('k')).decision.retryAfterMs
  expect(await retryAfterMs()).toBe(1000)
  await clock.advance('59700ms')
  expect(await retryAfterMs()).toBe(300)
  await limiter.close()
})
