import { Cluster } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { slotOf } from '../redis/slots.ts'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type ClusterServers, startCluster } from '../testing/servers/cluster.ts'
import { inspectUpstream, upstreamKeys } from './booking/redis-port.ts'
import { createEgress } from './create-egress.ts'
import { mostInAnyPeriod, startVendor } from './testing/vendor.ts'

let servers: ClusterServers
beforeAll(async () => {
  servers = await startCluster()
})
afterAll(() => servers.stop())

describe('egress on a Redis Cluster', () => {
  test('holds a limit over two replicas while the slot of its upstream moves to another node', async () => {
    // Calls are always in flight, so that some are when the slot moves; their worst case is the timeout of a minute.
    const vendor = await startVendor((_, response) => void setTimeout(() => response.end('ok'), 300))
    const upstreams = [
      { name: 'vendor', origin: vendor.origin, limits: { amount: 10, per: '500ms' }, arrival: 'response' },
    ]
    const replicas = await Promise.all(
      [1, 2].map(async () => {
        const client = new Cluster(
          servers.nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
          { lazyConnect: true },
        )
        const redis = openRedis(client)
        const egress = await createEgress({ policy: { service: 'ingest', upstreams }, redis })
        return { client, redis, egress }
      }),
    )
    const call = async (of: number): Promise<number> => {
      const response = await replicas[of]!.egress.fetch(`${vendor.origin}/x`)
      await response.text()
      return response.status
    }
    const calls = Array.from({ length: 120 }, (_, i) => call(i % 2))
    await expect.poll(() => vendor.arrivals.length, { timeout: 30_000 }).toBeGreaterThan(20)
    const slot = slotOf(upstreamKeys('ingest', 'vendor', 'sluice:')[0]!)
    const from = await servers.masterOf(slot)
    const to = (await servers.masters()).find(({ port }) => port !== from.port)!
    await servers.moveSlot(slot, from, to)
    expect(await inspectUpstream(replicas[0]!.redis, 'ingest', 'vendor')).toMatchObject({
      recoveringMs: expect.any(Number),
    })
    expect(new Set(await Promise.all(calls))).toEqual(new Set([200]))
    expect(vendor.arrivals).toHaveLength(120)
    const used = async (): Promise<number[]> =>
      Object.values((await inspectUpstream(replicas[0]!.redis, 'ingest', 'vendor'))!.limits).map(({ used }) => used)
    await expect.poll(used).toEqual([0])
    expect(mostInAnyPeriod(vendor.arrivals, 500)).toBeLessThanOrEqual(10)
    for (const { egress, redis, client } of replicas) {
      await egress.close()
      await redis.close()
      client.disconnect()
    }
    await vendor.close()
  })
})
