import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { redisStore } from '../redis/index.ts'

let server: RedisServer
let client: Redis

beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port)
})
afterAll(async () => {
  client.disconnect()
  await server.stop()
})

const replica = (amount: number, service: string, per = '1h') =>
  createLimiter({
    policy: { service, rules: [{ name: 'hot', limits: { amount, per, name: 'limit' }, lease: true }] },
    store: redisStore(client),
    denyCache: false,
  })

it('admits exactly the limit from several replicas, most of it without a round trip', async () => {
  const limit = 20_000
  const replicas = await Promise.all([1, 2, 3].map(() => replica(limit, 'exact')))
  let local = 0
  for (const limiter of replicas) limiter.on('local', () => local++)
  let admitted = 0
  let denied = 0
  await Promise.all(
    replicas.flatMap((limiter) =>
      Array.from({ length: 32 }, async () => {
        while (denied < 200) (await limiter.take('one')).allowed ? admitted++ : denied++
      }),
    ),
  )
  expect(admitted).toBeLessThanOrEqual(limit)
  // What is still drawn when the others are denied is given back by closing, and can then be taken.
  await Promise.all(replicas.map((limiter) => limiter.close()))
  const last = await replica(limit, 'exact')
  while ((await last.take('one')).allowed) admitted++
  expect(admitted).toBe(limit)
  expect(local).toBeGreaterThan(limit / 2)
  await last.close()
})

it('spends the lease of a key for that key only, not for a text that spells it', async () => {
  const limiter = await replica(100_000, 'alike')
  let local = 0
  limiter.on('local', () => local++)
  let taken = 0
  await waitFor(async () => {
    await Promise.all(Array.from({ length: 50 }, () => limiter.take(['a', 'b'])))
    taken += 50
    return local > 100
  })
  expect((await limiter.take('a/b')).limits[0]!.remaining).toBe(99_999)
  expect((await limiter.peek('a/b')).limits[0]!.remaining).toBe(99_999)
  await limiter.close()
  const after = await replica(100_000, 'alike')
  expect((await after.peek(['a', 'b'])).limits[0]!.remaining).toBe(100_000 - taken)
  await after.close()
})

it('gives units back when idle, and reports what it drew, returned and lost', async () => {
  const limiter = await replica(100_000, 'idle')
  const sums = { drawn: 0, returned: 0, stranded: 0 }
  limiter.on('lease', ({ drawn, returned, stranded }) => {
    sums.drawn += drawn
    sums.returned += returned
    sums.stranded += stranded
  })
  let taken = 0
  await waitFor(async () => {
    await Promise.all(Array.from({ length: 50 }, () => limiter.take('two')))
    taken += 50
    return sums.drawn > 0
  })
  await waitFor(async () => (await limiter.peek('two')).limits[0]!.remaining === 100_000 - taken)
  expect(sums.returned).toBeGreaterThan(0)
  expect(sums.stranded).toBe(0)
  await limiter.close()
})

it('does not spend beyond its window', async () => {
  const limiter = await replica(1000, 'window', '200ms')
  let admitted = 0
  const startMs = performance.now()
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (performance.now() < startMs + 1500) {
        const decision = await limiter.take('three')
        if (decision.allowed) admitted++
        else await new Promise((resolve) => setTimeout(resolve, decision.retryAfterMs))
      }
    }),
  )
  // A window begins with the first hit after the one before: in this time there were at most so many.
  const windows = Math.floor((performance.now() - startMs) / 200) + 1
  expect(admitted).toBeLessThanOrEqual(1000 * windows)
  expect(admitted).toBeGreaterThan(1000)
  await limiter.close()
})

it('forgets what it drew when the subject is reset', async () => {
  const limiter = await replica(50_000, 'reset')
  for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 50 }, () => limiter.take('four')))
  await limiter.reset('four')
  const [status] = (await limiter.peek('four')).limits
  expect(status!.remaining).toBe(50_000)
  await limiter.close()
})
