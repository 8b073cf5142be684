import { Redis as Ioredis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { RedisClient } from '../../redis/client.ts'
import { insideOf } from '../../redis/use-redis.ts'
import { openRedis } from '../../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { createCache, defineKeys, key } from '../index.ts'
import { datedAt } from '../values/stored-value.ts'

const keys = defineKeys({ row: key('row', ['id'], { ttl: '60s', jitter: 0 }) })
const count = 20
const all = Array.from({ length: count }, (_, i) => keys.row(i))

let server: RedisServer
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())

const clients: Readonly<Record<string, () => RedisClient>> = {
  ioredis: () => new Ioredis({ port: server.port, lazyConnect: true }),
  'node-redis': () => createClient({ socket: { port: server.port, host: '127.0.0.1' } }),
}

describe.each(Object.entries(clients))('with %s', (name, client) => {
  test('many copies are read by plain commands and few by a script, with the same result', async () => {
    const redis = openRedis(client(), { reports: false })
    const plain = vi.spyOn(insideOf(redis, 'redis').redis, 'read')
    const missing = keys.row('missing')
    const options = { redis, name, memory: false, redisDeadline: '2s', proof: '60s', compressBytes: 1000 } as const
    const cache = await createCache(options)
    const values = [{ text: 'grüße 価格 🚰' }, 'x'.repeat(5000), Buffer.from([0, 255, 128]), null, [10n, new Date(5)]]
    for (const [i, each] of all.entries()) await cache.set(each, values[i % values.length])
    const spelled = (i: number): string => `sluice:#cache/default/${name}/row/#${i}`
    const [seconds] = await server.cli<string[]>('TIME')
    await server.cli('SETRANGE', spelled(15), 0, datedAt((Number(seconds) - 5) * 1e6))
    await server.cli('DEL', spelled(16), spelled(19))
    await server.cli('APPEND', spelled(17), '!')
    await server.cli('SET', spelled(18), 'something else')
    await server.cli('LPUSH', spelled(19), 'of another type')

    const many = await cache.getMany(all)
    expect(plain).toHaveBeenCalledTimes(1)
    expect(plain.mock.calls[0]![0].keys).toHaveLength(count)
    const single: typeof many = []
    for (const each of all) {
      // After a miss, one key is looked up by the script.
      expect(await cache.get(missing)).toBeUndefined()
      plain.mockClear()
      single.push(await cache.get(each))
      expect(plain).not.toHaveBeenCalled()
    }

    const told = (answers: readonly unknown[]) => answers.map((answer) => answer && { ...answer, ageMs: 0, freshMs: 0 })
    expect(told(many)).toStrictEqual(told(single))
    expect(many.map((answer) => answer?.from)).toEqual(all.map((_, i) => (i < 16 ? 'redis' : undefined)))
    expect(many.slice(0, 16).map((answer) => answer?.value)).toStrictEqual(
      all.slice(0, 16).map((_, i) => values[i % values.length]),
    )
    expect(many[15]!.ageMs).toBeGreaterThanOrEqual(5000)
    await cache.close()
    await redis.close()
  })
})
