import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { PolicySource, SourcedDocument } from '../../policy/live/source.ts'
import { switchedStore } from '../../testing/faulty-store.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { memoryStore } from '../memory/memory-store.ts'
import { openRedis } from '../redis/open-redis.ts'
import { storeOf } from '../store-of.ts'
import { Replicas } from './replicas.ts'

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis?.stop())

test('replicas count each other, and one that closes is no longer counted', async () => {
  const clock = virtualClock()
  const store = memoryStore({ clock })
  const replicas = ['a', 'b', 'c', 'd'].map((id) => new Replicas(store, 'service', id, clock))
  for (const replica of replicas) await replica.start(100)
  for (const replica of replicas) await replica.beat(100)
  expect(replicas.map(({ count }) => count)).toEqual([4, 4, 4, 4])
  await replicas[3]!.close(100)
  await clock.advance('20s')
  expect(replicas.slice(0, 3).map(({ count }) => count)).toEqual([3, 3, 3])
  for (const replica of replicas) await replica.close(100)
})

test('services do not count each other', async () => {
  const store = memoryStore()
  const [one, other] = [
    new Replicas(store, 'one', 'a', virtualClock()),
    new Replicas(store, 'other', 'b', virtualClock()),
  ]
  await one.start(100)
  await other.start(100)
  expect([one.count, other.count]).toEqual([1, 1])
  await Promise.all([one.close(100), other.close(100)])
})

test('while the store is away the last known number stands, also right after it came back empty', async () => {
  const clock = virtualClock()
  const store = switchedStore(memoryStore({ clock }))
  const replicas = ['a', 'b', 'c'].map((id) => new Replicas(store, 'service', id, clock))
  for (const replica of replicas) await replica.start(100)
  for (const replica of replicas) await replica.beat(100)
  store.failing = 'refused'
  await clock.advance('1m')
  expect(replicas[0]!.count).toBe(3)
  store.failing = undefined
  await store.close()
  await replicas[0]!.beat(100)
  expect(replicas[0]!.count).toBe(3)
  for (const replica of replicas) await replica.close(100)
})

test('a limiter that starts while the store is away enforces the whole limit, or its share of a number it was told', async () => {
  const policy = { service: 'late', rules: [{ name: 'r', limits: { rph: 100 }, onStoreFailure: 'local' as const }] }
  const admitted = async (replicas?: number): Promise<number> => {
    const away = new Redis({ port: 1, lazyConnect: true, retryStrategy: () => null })
    away.on('error', () => undefined)
    const store = storeOf(openRedis(away))
    const limiter = await createLimiter({ policy, store, deadline: 5000, ...(replicas ? { replicas } : {}) })
    const decisions = await Promise.all(Array.from({ length: 150 }, () => limiter.take('one')))
    await limiter.close()
    await store.close()
    return decisions.filter(({ allowed }) => allowed).length
  }
  expect(await admitted()).toBe(100)
  expect(await admitted(4)).toBe(25)
})

test('four replicas on Redis that goes away share the limit', async () => {
  const policy = { service: 'four', rules: [{ name: 'r', limits: { rph: 100 }, onStoreFailure: 'local' as const }] }
  const limiters: Limiter[] = []
  for (let i = 0; i < 4; i++) {
    // Reports would be taken for beats below.
    const handle = openRedis(new Redis({ port: redis.port, lazyConnect: true }), { reports: false })
    // A beat that takes longer than the deadline is done in Redis, but counts nobody.
    limiters.push(await createLimiter({ policy, redis: handle, deadline: 5000 }))
  }
  // The first has counted before the others were there; it counts again within two seconds.
  const shares = (): Promise<number[]> =>
    Promise.all(limiters.map(async (limiter) => (await limiter.peek('probe')).limits[0]?.amount ?? 0))
  // A beat is two scripts, and every replica beats in turn: eight more, and each has counted all four.
  const scripts = async (): Promise<number> =>
    Number(/cmdstat_evalsha:calls=(\d+)/.exec(await redis.cli<string>('INFO', 'commandstats'))?.[1] ?? 0)
  const before = await scripts()
  await waitFor(async () => (await scripts()) >= before + 8)
  await redis.kill()
  await waitFor(async () => (await shares()).every((amount) => amount === 25))
  let admitted = 0
  for (const limiter of limiters) {
    const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.take('one')))
    expect(decisions.every(({ degraded }) => degraded)).toBe(true)
    admitted += decisions.filter(({ allowed }) => allowed).length
  }
  expect(admitted).toBe(100)
  await redis.restart()
  for (const limiter of limiters) await waitFor(async () => !(await limiter.peek('one')).degraded)
  await waitFor(async () => (await limiters[0]!.peek('one')).limits[0]!.remaining === 0)
  await Promise.all(limiters.map((limiter) => limiter.close()))
})

test('replicas are counted also when only a later version of the policy has a local rule', async () => {
  const version = (onStoreFailure: 'closed' | 'local') => ({
    service: 'later',
    rules: [{ name: 'r', limits: { rph: 100 }, onStoreFailure }],
  })
  let change: ((document: SourcedDocument) => void) | undefined
  const source: PolicySource = {
    description: 'a test',
    start: async (listener) => {
      change = (document) => listener.changed(document)
      return { document: version('closed'), revision: 1 }
    },
    close: async () => undefined,
  }
  const store = storeOf(openRedis(new Redis({ port: redis.port, lazyConnect: true })))
  const limiter = await createLimiter({ policy: source, store })
  const beats = (): Promise<string[]> => redis.cli<string[]>('KEYS', '*later/*replicas*')
  expect(await beats()).toEqual([])
  change!({ document: version('local'), revision: 2 })
  await waitFor(async () => (await beats()).length === 1)
  await limiter.close()
})

test('a Redis that comes back empty gives nothing beyond what was admitted without it', async () => {
  const policy = { service: 'empty', rules: [{ name: 'r', limits: { rph: 4 }, onStoreFailure: 'local' as const }] }
  await redis.restart()
  const limiter = await createLimiter({
    policy,
    redis: openRedis(new Redis({ port: redis.port, lazyConnect: true })),
    denyCache: false,
  })
  for (let outage = 0; outage < 3; outage++) {
    const key = `one-${outage}`
    await limiter.take('other')
    await redis.kill()
    let admitted = 0
    for (let i = 0; i < 8; i++) if ((await limiter.take(key)).allowed) admitted++
    expect(admitted).toBe(4)
    await redis.restart()
    // From the first answer of the empty server on: the report must not come after it.
    await waitFor(async () => {
      const decision = await limiter.take(key)
      if (decision.allowed) admitted++
      return !decision.degraded
    })
    for (let i = 0; i < 8; i++) if ((await limiter.take(key)).allowed) admitted++
    expect(admitted).toBe(4)
  }
  await limiter.close()
})
