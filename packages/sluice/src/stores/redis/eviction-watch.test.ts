import { Cluster, Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { sharedRedis } from '../../redis/testing/shared-redis.ts'
import { startCluster } from '../../testing/servers/cluster.ts'
import { startRedis } from '../../testing/servers/redis.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { EvictionWatch } from './eviction-watch.ts'

const evicting = ['--maxmemory', '2mb', '--maxmemory-policy', 'allkeys-lru']
const fill = (redis: { cli(...args: (string | number)[]): Promise<unknown> }, prefix: string): Promise<unknown> =>
  redis.cli('EVAL', `for i = 1, 3000 do redis.call('SET', '${prefix}' .. i, string.rep('x', 1000)) end`, 0)

test('a server that evicts is noticed at the next look, with the number of keys', async () => {
  const server = await startRedis({ args: evicting })
  const redis = sharedRedis(new Redis({ port: server.port, lazyConnect: true }))
  onTestFinished(async () => {
    await redis.close()
    await server.stop()
  })
  await fill(server, 'before')
  const clock = virtualClock()
  const reports: number[] = []
  const watch = new EvictionWatch(
    () => redis,
    clock,
    (keys) => reports.push(keys),
  )
  await watch.look()
  expect(reports, 'what was evicted before is no news').toEqual([])
  const before = Number((await server.info('stats')).evicted_keys)
  await fill(server, 'after')
  watch.start()
  await waitFor(() => reports.length === 1)
  // Redis goes on evicting for a while after the writes.
  expect(reports[0]).toBeGreaterThan(0)
  expect(reports[0]).toBeLessThanOrEqual(Number((await server.info('stats')).evicted_keys) - before)
  await fill(server, 'later')
  await clock.advance('10s')
  await waitFor(() => reports.length === 2)
  watch.stop()
  expect(clock.pending).toBe(0)
})

test('every node of a cluster is looked at', async () => {
  const servers = await startCluster({ masters: 3, replicas: 0 })
  const redis = sharedRedis(new Cluster([servers.nodes[0]!.url], { lazyConnect: true }))
  onTestFinished(async () => {
    await redis.close()
    await servers.stop()
  })
  await redis.ready(5000)
  const asked = new Set<string>()
  const facts = async (key: string, withinMs: number): ReturnType<typeof redis.nodeFacts> => {
    const found = await redis.nodeFacts(key, withinMs)
    asked.add(found.runId)
    return found
  }
  await new EvictionWatch(
    () => ({ isCluster: true, nodeOf: (key) => redis.nodeOf(key), nodeFacts: facts }),
    virtualClock(),
    () => {},
  ).look()
  expect(asked.size).toBe(3)
})
