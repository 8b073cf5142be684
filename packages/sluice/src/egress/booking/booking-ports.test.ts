import { Cluster, Redis } from 'ioredis'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { useRedis } from '../../redis/use-redis.ts'
import { openRedis } from '../../stores/redis/open-redis.ts'
import { bookingConformance } from '../../testing/booking-conformance.ts'
import { startCluster } from '../../testing/servers/cluster.ts'
import { startRedis } from '../../testing/servers/redis.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { memoryPort } from './memory-port.ts'
import { redisPort } from './redis-port.ts'

const framework = { afterAll, beforeAll, describe, it }

bookingConformance(framework, {
  name: 'memory',
  async start() {
    const clock = virtualClock()
    const nowMs = (): number => clock.monotonic()
    return { port: memoryPort(clock), advance: (ms) => clock.advance(ms), nowMs, stop: async () => {} }
  },
})

bookingConformance(framework, {
  name: 'Redis',
  async start() {
    const server = await startRedis()
    const client = new Redis(server.url, { lazyConnect: true })
    const redis = openRedis(client)
    const port = redisPort(useRedis(redis, 'redis'), 'conformance')
    return {
      port,
      async stop() {
        await port.close()
        await redis.close()
        client.disconnect()
        await server.stop()
      },
    }
  },
})

bookingConformance(framework, {
  name: 'Redis Cluster',
  async start() {
    // A busy machine is no reason to replace a master, whose state would be lost in part.
    const servers = await startCluster({ args: ['--cluster-node-timeout', '10000'] })
    const client = new Cluster(
      servers.nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
      { lazyConnect: true },
    )
    const redis = openRedis(client, { socketTimeout: '1m' })
    const port = redisPort(useRedis(redis, 'redis'), 'conformance')
    return {
      port,
      async stop() {
        await port.close()
        await redis.close()
        client.disconnect()
        await servers.stop()
      },
    }
  },
})
