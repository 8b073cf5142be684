import { Redis } from 'ioredis'
import { Redis as Redis5 } from 'ioredis5'
import { createClient } from 'redis'
import { createClient as createClient5 } from 'redis5'
import { afterAll, beforeAll, describe, it } from 'vitest'
import type { RedisClient } from '../../redis/client.ts'
import { findBinary } from '../../testing/servers/binary.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { storeConformance } from '../../testing/store-conformance.ts'
import { storeOf } from '../store-of.ts'
import { openRedis } from './open-redis.ts'

const framework = { afterAll, beforeAll, describe, it }

interface Client {
  readonly client: RedisClient
  end(): void
}

/** The service's own client is only a pattern for the store's connection: it need not even be connected. */
const clients: Readonly<Record<string, (port: number) => Client>> = {
  'ioredis 6': (port) => ioredis(new Redis({ port, lazyConnect: true })),
  'ioredis 5': (port) => ioredis(new Redis5({ port, lazyConnect: true })),
  'node-redis 6': (port) => ({ client: createClient({ socket: { port } }), end: () => {} }),
  'node-redis 5': (port) => ({ client: createClient5({ socket: { port } }), end: () => {} }),
}

function ioredis(client: RedisClient & { disconnect(): void }): Client {
  return { client, end: () => client.disconnect() }
}

function conformance(name: string, start: () => Promise<RedisServer>, client: (port: number) => Client): void {
  storeConformance(framework, {
    name,
    abilities: ['keepsDeadlines', 'submit', 'continuity', 'lossMark', 'line'],
    async start() {
      const server = await start()
      const { client: pattern, end } = client(server.port)
      const store = storeOf(openRedis(pattern))
      return {
        store,
        async stop() {
          await store.close()
          end()
          await server.stop()
        },
      }
    },
  })
}

for (const [name, client] of Object.entries(clients)) conformance(`redisStore with ${name}`, () => startRedis(), client)

const valkey = findBinary('valkey-server')
if (valkey === undefined) {
  describe.skip('redisStore on Valkey (not here: valkey-server is not installed)', () => it('conforms', () => {}))
} else {
  const start = (): Promise<RedisServer> => startRedis({ binary: valkey })
  conformance('redisStore with ioredis 6 on Valkey', start, clients['ioredis 6']!)
}
