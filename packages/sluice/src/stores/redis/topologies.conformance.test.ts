import { Cluster, Redis } from 'ioredis'
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { createCluster, createSentinel } from 'redis'
import { createCluster as createCluster5, createSentinel as createSentinel5 } from 'redis5'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RedisClient } from '../../redis/client.ts'
import { type ClusterServers, startCluster } from '../../testing/servers/cluster.ts'
import { type SentinelServers, startSentinel } from '../../testing/servers/sentinel.ts'
import { storeConformance } from '../../testing/store-conformance.ts'
import { storeOf } from '../store-of.ts'
import { openRedis } from './open-redis.ts'

const framework = { afterAll, beforeAll, describe, it }

interface Client {
  readonly client: RedisClient
  end?(): void
}

/** Runs the suite over each client, against servers that all of them share. */
function conformance<S extends { stop(): Promise<void> }>(
  name: string,
  start: () => Promise<S>,
  clients: Readonly<Record<string, (servers: S) => Client>>,
): void {
  describe(name, () => {
    let servers: S
    beforeAll(async () => {
      servers = await start()
    })
    afterAll(async () => {
      await servers?.stop()
    })
    for (const [library, make] of Object.entries(clients)) {
      storeConformance(framework, {
        name: `redisStore with ${library} on ${name}`,
        abilities: ['keepsDeadlines', 'submit', 'continuity', 'lossMark', 'line'],
        async start() {
          const { client, end } = make(servers)
          // What a silent server leads to is tested elsewhere; on a busy machine one may be silent for long.
          const store = storeOf(openRedis(client, { socketTimeout: '1m' }))
          return {
            store,
            async stop() {
              await store.close()
              end?.()
            },
          }
        },
      })
    }
  })
}

const sentinels = ({ sentinels: nodes, name }: SentinelServers) => ({
  ioredis: { sentinels: [...nodes], name, lazyConnect: true },
  nodeRedis: { sentinelRootNodes: [...nodes], name },
})

// A busy machine is no reason to replace a master.
conformance('Sentinel', () => startSentinel({ downAfterMs: 10_000 }), {
  'ioredis 6': (servers) => disconnected(new Redis(sentinels(servers).ioredis)),
  'ioredis 5': (servers) => disconnected(new Redis5(sentinels(servers).ioredis)),
  'node-redis 6': (servers) => ({ client: createSentinel(sentinels(servers).nodeRedis) }),
})

describe('redisStore with node-redis 5 on Sentinel', () => {
  it('says at once what to use instead, as its client cannot be duplicated', () => {
    const client = createSentinel5({ name: 'mymaster', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] })
    expect(() => storeOf(openRedis(client))).toThrow(/createSentinel of node-redis 6, or ioredis/)
  })
})

const roots = ({ nodes }: ClusterServers) => nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
const rootNodes = (servers: ClusterServers) => roots(servers).map((socket) => ({ socket }))

conformance('Cluster', () => startCluster({ args: ['--cluster-node-timeout', '10000'] }), {
  'ioredis 6': (servers) => disconnected(new Cluster(roots(servers), { lazyConnect: true })),
  'ioredis 5': (servers) => disconnected(new Cluster5(roots(servers), { lazyConnect: true })),
  'node-redis 6': (servers) => ({ client: createCluster({ rootNodes: rootNodes(servers) }) }),
  'node-redis 5': (servers) => ({ client: createCluster5({ rootNodes: rootNodes(servers) }) }),
})

function disconnected(client: RedisClient & { disconnect(): void }): Client {
  return { client, end: () => client.disconnect() }
}
