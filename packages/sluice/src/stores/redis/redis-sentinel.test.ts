import { Redis } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { createSentinel } from 'redis'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { RedisClient } from '../../redis/client.ts'
import { respClient } from '../../testing/servers/resp.ts'
import { type SentinelServers, startSentinel } from '../../testing/servers/sentinel.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { openRedis } from './open-redis.ts'

let servers: SentinelServers
beforeAll(async () => {
  servers = await startSentinel()
})
afterAll(() => servers?.stop())

const clients: Readonly<Record<string, () => RedisClient>> = {
  'ioredis 6': () => new Redis({ sentinels: [...servers.sentinels], name: servers.name, lazyConnect: true }),
  'ioredis 5': () => new Redis5({ sentinels: [...servers.sentinels], name: servers.name, lazyConnect: true }),
  'node-redis 6': () => createSentinel({ sentinelRootNodes: [...servers.sentinels], name: servers.name }),
}

/** Sentinels demote the old master when they next look at it, 10 s by default: until then there are two masters. */
async function lookEvery(ms: number): Promise<void> {
  for (const { port } of servers.sentinels) {
    const sentinel = respClient(port)
    await sentinel.call('SENTINEL', 'DEBUG', 'info-period', String(ms))
    sentinel.close()
  }
}

describe.each(Object.entries(clients))('a planned failover with %s', (name, client) => {
  const open = (): Promise<Limiter> =>
    createLimiter({
      policy: { service: `planned ${name}`, rules: [{ name: 'r', limits: { rph: 1000 }, onStoreFailure: 'closed' }] },
      redis: openRedis(client()),
    })

  test('leaves the old master although it still takes writes', async () => {
    const old = await servers.settled()
    const before = await open()
    await waitFor(async () => !(await before.take('warm')).degraded)
    await lookEvery(600_000)
    onTestFinished(() => lookEvery(500))
    const sentinel = respClient(servers.sentinels[0]!.port)
    await sentinel.call('SENTINEL', 'FAILOVER', servers.name)
    sentinel.close()
    await waitFor(async () => (await servers.master()).port !== old.port)
    const after = await open()
    await waitFor(async () => (await after.take('one', { cost: 600 })).degraded === false)
    await waitFor(async () => (await before.peek('one')).limits[0]?.remaining === 400)
    expect((await old.info('replication')).role, 'the old master has not been demoted yet').toBe('master')
    await Promise.all([before.close(), after.close()])
  })
})
