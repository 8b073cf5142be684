import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { RedisClient } from '../../redis/client.ts'
import { reconnectDelayMs } from '../../redis/connection/connection.ts'
import { withFreePorts } from '../../testing/servers/ports.ts'
import { type RedisServer, startRedis, startRedisOn } from '../../testing/servers/redis.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { storeOf } from '../store-of.ts'
import { openRedis } from './open-redis.ts'

let redis: RedisServer
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis?.stop())

const policy = (onStoreFailure: 'closed' | 'local' = 'closed') => ({
  service: 'life',
  rules: [{ name: 'r', limits: { rph: 1_000_000 }, onStoreFailure, lease: true }],
})
const single: Readonly<Record<string, (port: number) => RedisClient>> = {
  ioredis: (port) => new Redis({ port, lazyConnect: true }),
  'node-redis': (port) => createClient({ socket: { port, host: '127.0.0.1' } }),
}
const clusters: Readonly<Record<string, (port: number) => RedisClient>> = {
  'an ioredis cluster': (port) => new Cluster([{ port, host: '127.0.0.1' }], { lazyConnect: true }),
  'a node-redis cluster': (port) =>
    createCluster({ rootNodes: [{ socket: { port, host: '127.0.0.1' } }] }) as unknown as RedisClient,
}
const open = (client: RedisClient, deadlineMs = 500): Promise<Limiter> =>
  createLimiter({
    policy: policy(),
    redis: openRedis(client),
    denyCache: false,
    deadline: deadlineMs,
    breaker: { cooldown: 10 },
  })
const connections = async (): Promise<number> => Number((await redis.info('clients')).connected_clients)

describe.each(Object.entries({ ...single, ...clusters }))('with %s', (name, client) => {
  test('nothing listens at first: decisions are degraded, at once the first one too, and exact when Redis is there', async () => {
    await withFreePorts(2, async ([port, busPort]) => {
      const limiter = await open(client(port!))
      const first = await limiter.take('a')
      expect(first).toMatchObject({ allowed: false, degraded: true, reason: 'unavailable' })
      const isCluster = name in clusters
      const args = ['--cluster-enabled', 'yes', '--cluster-port', `${busPort}`, '--cluster-announce-ip', '127.0.0.1']
      const late = await startRedisOn(port!, isCluster ? { args } : {})
      try {
        if (isCluster) await late.cli('CLUSTER', 'ADDSLOTSRANGE', 0, 16383)
        await waitFor(async () => !(await limiter.take('a')).degraded)
      } finally {
        await limiter.close()
        await late.stop()
      }
    })
  })
})

describe.each(Object.entries(single))('with %s', (_, client) => {
  test('closing waits for decisions under way, and they are exact', async () => {
    const limiter = await open(client(redis.port), 10_000)
    await waitFor(async () => !(await limiter.take('a')).degraded)
    const decisions = Array.from({ length: 500 }, (__, i) => limiter.take(`under-way-${i}`))
    await limiter.close()
    expect((await Promise.all(decisions)).every(({ degraded }) => !degraded)).toBe(true)
  })

  test('closing before the first connection is made leaves nothing unsettled', async () => {
    const limiter = await open(client(redis.port))
    const decisions = Array.from({ length: 10 }, (__, i) => limiter.take(`early-${i}`))
    await limiter.close()
    expect(await Promise.all(decisions)).toHaveLength(10)
  })

  test('closing a limiter and its store at the same time ends both', async () => {
    const store = storeOf(openRedis(client(redis.port)))
    const limiter = await createLimiter({ policy: policy(), store })
    const decisions = Array.from({ length: 10 }, (__, i) => limiter.take(`both-${i}`))
    await Promise.all([limiter.close(), store.close(), store.close()])
    expect(await Promise.all(decisions)).toHaveLength(10)
  })

  test('closing while Redis is frozen settles everything by its deadline', async () => {
    const limiter = await open(client(redis.port), 100)
    await waitFor(async () => !(await limiter.take('a')).degraded)
    await redis.freeze()
    try {
      const decisions = Array.from({ length: 100 }, () => limiter.take('frozen'))
      await limiter.close()
      const kinds = new Set((await Promise.all(decisions)).map(({ failure }) => failure))
      expect(kinds).toEqual(new Set(['timeout']))
    } finally {
      redis.thaw()
    }
  })

  test('after closing, calls are refused, and closing again is fine', async () => {
    const limiter = await open(client(redis.port))
    await limiter.close()
    await limiter.close()
    await expect(limiter.take('a')).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
  })

  test('only the connection that Sluice opened is closed', async () => {
    const own = client(redis.port) as unknown as {
      connect(): Promise<unknown>
      ping(): Promise<string>
      destroy?(): void
      disconnect?(): void
    }
    // Those of the tests before are gone, also those that were closed while they connected.
    await waitFor(async () => (await connections()) === 1)
    await own.connect()
    const before = await connections()
    const limiter = await open(own as unknown as RedisClient)
    await waitFor(async () => !(await limiter.take('a')).degraded)
    expect(await connections()).toBe(before + 1)
    await limiter.close()
    await waitFor(async () => (await connections()) === before)
    expect(await own.ping()).toBe('PONG')
    if (own.destroy) own.destroy()
    else own.disconnect?.()
  })

  test('leases are given back when closing', async () => {
    await redis.cli('FLUSHALL')
    const limiter = await open(client(redis.port))
    await waitFor(async () => !(await limiter.take('cold')).degraded)
    let drawn = 0
    limiter.on('leased', (lease) => {
      drawn += lease.drawn
    })
    let admitted = 0
    await waitFor(async () => {
      const decisions = await Promise.all(Array.from({ length: 50 }, () => limiter.take('hot')))
      admitted += decisions.filter(({ allowed }) => allowed).length
      return drawn > 0 && admitted > 500
    })
    await limiter.close()
    const after = await open(client(redis.port))
    expect(1_000_000 - (await after.peek('hot')).limits[0]!.remaining).toBe(admitted)
    await after.close()
  })

  test('health tells whether Redis is there, how far it is, and whether it may evict', async () => {
    const limiter = await open(client(redis.port))
    await waitFor(async () => !(await limiter.take('a')).degraded)
    const well = await limiter.health()
    expect(well).toMatchObject({
      ready: true,
      warnings: [],
      store: {
        reachable: true,
        breaker: 'closed',
        lastContactMs: 0,
        details: { evictionPolicy: 'noeviction', evictedKeys: 0, role: 'master' },
      },
    })
    expect(well.store.roundTripMs).toBeGreaterThan(0)
    await redis.cli('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    await waitFor(async () => (await limiter.health()).warnings.length > 0)
    expect((await limiter.health()).warnings).toEqual([expect.stringContaining('may evict limiter keys')])
    await redis.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
    await redis.freeze()
    try {
      await waitFor(async () => !(await limiter.health()).ready)
      expect(await limiter.health()).toMatchObject({ ready: false, store: { reachable: false } })
    } finally {
      redis.thaw()
    }
    await limiter.close()
  })
})

test('evictions that have happened are warned of', async () => {
  const small = await startRedis({ args: ['--maxmemory', '3mb', '--maxmemory-policy', 'allkeys-lru'] })
  try {
    for (let i = 0; i < 100; i++) await small.cli('SET', `filler-${i}`, 'x'.repeat(50_000))
    const limiter = await open(new Redis({ port: small.port, lazyConnect: true }))
    await waitFor(async () => (await limiter.health()).store.reachable)
    expect((await limiter.health()).warnings.join()).toMatch(/has evicted \d+ keys/)
    await limiter.close()
  } finally {
    await small.stop()
  }
})

test('attempts to connect wait longer and longer, up to a cap, and are spread', () => {
  const waits = (random: number): number[] =>
    Array.from({ length: 12 }, (_, attempt) => reconnectDelayMs(attempt, 200, () => random))
  expect(waits(1).slice(0, 4)).toEqual([25, 50, 100, 200])
  expect(Math.max(...waits(1))).toBe(200)
  for (const [attempt, wait] of waits(0).entries()) expect(wait).toBe(Math.ceil(waits(1)[attempt]! / 2))
})
