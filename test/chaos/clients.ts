import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster, createSentinel } from 'redis'
import { storeOf } from 'sluice/store'
import type { RedisClient } from '../../packages/sluice/src/redis/client.ts'
import { openRedis } from '../../packages/sluice/src/stores/redis/open-redis.ts'
import type { Store } from '../../packages/sluice/src/stores/store.ts'
import type { ClusterServers } from '../../packages/sluice/src/testing/servers/cluster.ts'
import type { SentinelServers } from '../../packages/sluice/src/testing/servers/sentinel.ts'

export type Library = 'ioredis' | 'node-redis'
export const libraries: readonly Library[] = ['ioredis', 'node-redis']

const host = '127.0.0.1'

/** A client as a service would make it; it need not be connected, as the store opens its own connection. */
export function singleClient(library: Library, port: number): RedisClient {
  return library === 'ioredis' ? new Redis({ port, host, lazyConnect: true }) : createClient({ socket: { port, host } })
}

export function sentinelClient(
  library: Library,
  { sentinels, name }: Pick<SentinelServers, 'sentinels' | 'name'>,
): RedisClient {
  if (library === 'ioredis') return new Redis({ sentinels: [...sentinels], name, lazyConnect: true })
  return createSentinel({ name, sentinelRootNodes: [...sentinels] }) as unknown as RedisClient
}

/** `through` maps the port of a node to that of a proxy before it. */
export function clusterClient(
  library: Library,
  { nodes }: Pick<ClusterServers, 'nodes'>,
  through: (port: number) => number = (port) => port,
): RedisClient {
  const roots = nodes.map(({ port }) => ({ host, port: through(port) }))
  const map = Object.fromEntries(nodes.map(({ port }) => [`${host}:${port}`, { host, port: through(port) }]))
  if (library === 'ioredis') return new Cluster(roots, { natMap: map, lazyConnect: true })
  return createCluster({
    rootNodes: roots.map((socket) => ({ socket })),
    nodeAddressMap: map,
  }) as unknown as RedisClient
}

/** A store with a long deadline, to read thousands of counters on a busy machine. */
export function patientStore(client: RedisClient): Store {
  return storeOf(openRedis(client, { socketTimeout: 10_000 }))
}
