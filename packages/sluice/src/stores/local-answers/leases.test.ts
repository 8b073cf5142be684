import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { memoryStore } from '../memory/memory-store.ts'
import { openRedis } from '../redis/index.ts'
import { wrapStore } from '../wrap-store.ts'

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
    redis: openRedis(client),
    denyCache: false,
    // Without Redis all would be admitted, as long as it is asked for.
    deadline: '60s',
  })

it('admits exactly the limit from several replicas, most of it without a round trip', async () => {
  const limit = 20_000
  const replicas = await Promise.all([1, 2, 3].map(() => replica(limit, 'exact')))
  let local = 0
  for (const limiter of replicas) limiter.on('answeredLocally', () => local++)
  let admitted = 0
  let denied = 0
  await Promise.all(
    replicas.flatMap((limiter) =>
      Array.from({ length: 32 }, async () => {
        while (denied < 200 && admitted <= limit) (await limiter.take('one')).allowed ? admitted++ : denied++
      }),
    ),
  )
  expect(admitted).toBeLessThanOrEqual(limit)
  // What is still drawn when the others are denied is given back by closing, and can then be taken.
  await Promise.all(replicas.map((limiter) => limiter.close()))
  const last = await replica(limit, 'exact')
  while (admitted <= limit && (await last.take('one')).allowed) admitted++
  expect(admitted).toBe(limit)
  expect(local).toBeGreaterThan(limit / 2)
  await last.close()
})

it('spends the lease of a key for that key only, not for a text that spells it', async () => {
  const limiter = await replica(100_000, 'alike')
  let local = 0
  limiter.on('answeredLocally', () => local++)
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
  limiter.on('leased', ({ drawn, returned, stranded }) => {
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
  const clock = virtualClock()
  const memory = memoryStore({ clock })
  // As if it were a round trip away: otherwise there are no leases.
  const store = wrapStore(memory, { decide: async (ask, withinMs) => memory.decide(ask, withinMs) })
  const policy = { service: 'window', rules: [{ name: 'hot', limits: { amount: 1000, per: '200ms' }, lease: true }] }
  const limiter = await createLimiter({ policy, store, clock, denyCache: false, replicas: 1 })
  let local = 0
  limiter.on('answeredLocally', () => local++)
  for (let window = 0; window < 8; window++) {
    // By turns a quiet window, at whose end units are left over, and a busy one, in which those would come on top of
    // the limit.
    const isBusy = window % 2 === 1
    let admitted = 0
    const endMs = clock.monotonic() + 200
    while (clock.monotonic() < endMs) {
      const asks = Array.from({ length: isBusy ? 40 : 15 }, () => limiter.take('three'))
      admitted += (await Promise.all(asks)).filter(({ allowed }) => allowed).length
      await clock.advance(5)
    }
    expect(admitted, `window ${window}`).toBeLessThanOrEqual(1000)
    if (isBusy) expect(admitted, `window ${window}`).toBeGreaterThan(900)
  }
  expect(local).toBeGreaterThan(1000)
  await limiter.close()
})

it.each(['the limiter closes', 'nobody asks any more', 'the subject is reset'])(
  'counts what a draw brings that is answered after %s',
  async (then) => {
    const clock = virtualClock()
    const memory = memoryStore({ clock })
    const draws: (() => void)[] = []
    // As if it were a round trip away; draws are answered when the test says so.
    const store = wrapStore(memory, {
      decide: async (ask, withinMs) => {
        const answer = await memory.decide(ask, withinMs)
        if (ask.kind === 'take' && ask.copies > 1) await new Promise<void>((resolve) => draws.push(resolve))
        return answer
      },
    })
    const policy = { service: 'late', rules: [{ name: 'hot', limits: { rph: 1000 }, lease: true }] }
    const open = () => createLimiter({ policy, store, clock, denyCache: false, replicas: 1, deadline: '60s' })
    const limiter = await open()
    for (let taken = 0; taken < 50; taken++) await limiter.take('five')
    expect(draws).toHaveLength(1)
    const other = await open()
    const left = async (): Promise<number> => (await other.peek('five')).limits[0]!.remaining
    expect(await left()).toBeLessThan(950)
    if (then === 'the subject is reset') await limiter.reset('five')
    const closed = then === 'the limiter closes' ? limiter.close() : undefined
    await clock.advance(1000)
    draws[0]!()
    await closed
    await clock.advance(1000)
    expect(await left()).toBe(then === 'the subject is reset' ? 1000 : 950)
    await limiter.close()
    await other.close()
  },
)

it('forgets what it drew when the subject is reset', async () => {
  const limiter = await replica(50_000, 'reset')
  for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 50 }, () => limiter.take('four')))
  await limiter.reset('four')
  const [status] = (await limiter.peek('four')).limits
  expect(status!.remaining).toBe(50_000)
  await limiter.close()
})
