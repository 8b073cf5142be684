import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { openRedis } from '../stores/redis/open-redis.ts'
import type { Store } from '../stores/store.ts'
import { storeOf } from '../stores/store-of.ts'
import { failingStoreFor } from '../testing/faulty-store.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { waitFor } from '../testing/wait-for.ts'
import { createLimiter } from './create-limiter.ts'
import type { Limiter } from './limiter.ts'

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server?.stop())

const on = (store: Store, service: string): Promise<Limiter> =>
  createLimiter({ policy: { service, rules: [{ name: 'r', limits: { rph: 1000 }, onStoreFailure: 'closed' }] }, store })
/** One of them is the connection that counts. */
const sockets = async (): Promise<number> => Number((await server.info('clients')).connected_clients) - 1

describe.each([
  ['redisStore', () => storeOf(openRedis(new Redis({ port: server.port, lazyConnect: true })))],
  ['memoryStore', () => memoryStore()],
] as const)('two limiters on one %s', (_, make) => {
  test('the first to close leaves the store to the other', async () => {
    const store = make()
    const [first, second] = [await on(store, 'one'), await on(store, 'two')]
    await second.take('a')
    await first.close()
    expect(await second.take('a')).toMatchObject({ allowed: true, degraded: false })
    await second.close()
    await store.close()
  })

  test('a store that no limiter uses any more can be used by the next', async () => {
    const store = make()
    await (await on(store, 'one')).close()
    const later = await on(store, 'one')
    expect(await later.take('a')).toMatchObject({ allowed: true, degraded: false })
    await later.close()
    await store.close()
  })
})

test('a Redis store keeps its socket while a limiter uses it, and none after the last', async () => {
  await waitFor(async () => (await sockets()) === 0)
  const store = storeOf(openRedis(new Redis({ port: server.port, lazyConnect: true })))
  const [first, second] = [await on(store, 'one'), await on(store, 'two')]
  await Promise.all([first.take('a'), second.take('a')])
  expect(await sockets()).toBe(1)
  await first.close()
  await second.take('b')
  expect(await sockets()).toBe(1)
  await second.close()
  await waitFor(async () => (await sockets()) === 0)
})

test.each([
  ['its policy is refused', { policy: { service: 's', rules: [{ name: 'r', limits: { rpm: -1 } }] } }],
  ['an option is wrong', { limits: { rpm: 1 }, deadlineMs: 5 }],
])('a limiter that cannot be made, as %s, leaves no socket behind', async (_, options) => {
  await waitFor(async () => (await sockets()) === 0)
  const store = storeOf(openRedis(new Redis({ port: server.port, lazyConnect: true })))
  await expect(createLimiter({ ...options, store } as never)).rejects.toThrow()
  await waitFor(async () => (await sockets()) === 0)
  const limiter = await on(store, 'one')
  await expect(createLimiter({ ...options, store } as never)).rejects.toThrow()
  expect(await limiter.take('a')).toMatchObject({ allowed: true, degraded: false })
  expect(await sockets()).toBe(1)
  await limiter.close()
})

test('each limiter on a shared store hears of its round trips', async () => {
  const store = storeOf(openRedis(new Redis({ port: server.port, lazyConnect: true })))
  const [first, second] = [await on(store, 'one'), await on(store, 'two')]
  const heard: string[] = []
  first.on('storeAnswered', () => heard.push('first'))
  second.on('storeAnswered', () => heard.push('second'))
  await first.take('a')
  await waitFor(() => heard.includes('first') && heard.includes('second'))
  await second.close()
  heard.length = 0
  await first.take('b')
  await waitFor(() => heard.includes('first'))
  expect(heard).not.toContain('second')
  await first.close()
})

test('failures and the breaker are those of the limiter that met them', async () => {
  const store = memoryStore()
  const [healthy, failing] = [await on(store, 'one'), await on(failingStoreFor(store, 2), 'two')]
  const heard: string[] = []
  healthy.on('storeFailed', () => heard.push('healthy'))
  failing.on('storeFailed', () => heard.push('failing'))
  // The heartbeat meets the other failure.
  await failing.take('a')
  expect(heard).toEqual(['failing'])
})

test('closing takes no longer than asked for, also while Redis is frozen', async () => {
  const frozen = await startRedis()
  try {
    const redis = openRedis(new Redis({ port: frozen.port, lazyConnect: true }))
    const limiter = await createLimiter({ limits: { rpm: 10 }, redis, deadline: '10s' })
    await limiter.take('a')
    await frozen.freeze()
    const open = limiter.take('b')
    const first = await Promise.race([limiter.close({ within: 20 }).then(() => 'closed'), open.then(() => 'taken')])
    expect(first).toBe('closed')
    await expect(limiter.take('c')).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
    await open
    await redis.close()
  } finally {
    await frozen.stop()
  }
})

test('limits that mean the same share a counter, however they are written; others are refused', async () => {
  const store = memoryStore()
  const first = await createLimiter({ limits: { amount: 3, per: '1m' }, store })
  const second = await createLimiter({ limits: { per: '60s', amount: 3 }, store })
  const third = await createLimiter({ limits: { rpm: 3 }, store })
  for (const limiter of [first, second, third]) expect((await limiter.take('a')).allowed).toBe(true)
  expect((await first.take('a')).allowed).toBe(false)
  await expect(createLimiter({ limits: { rpm: 4 }, store })).rejects.toThrow('another limiter has other limits')
  await Promise.all([first, second, third].map((limiter) => limiter.close()))
  await (await createLimiter({ limits: { rpm: 4 }, store })).close()
})
