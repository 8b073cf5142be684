import { Redis } from 'ioredis'
import { createCache, defineKeys, key } from 'sluice/cache'
import { openRedis } from 'sluice/redis'
import type { RedisServer } from '../../packages/sluice/src/testing/servers/redis.ts'
import type { CaseResult } from '../report/result.ts'
import { value } from './value.ts'

const keys = defineKeys({ row: key('row', ['id'], { ttl: '1h' }) })
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

/** A hundred keys at once against a hundred awaited one after another, a stampede, and the cost of an entry. */
export async function benchMany(server: RedisServer, rounds: number): Promise<CaseResult[]> {
  const client = new Redis(server.port)
  const redis = openRedis(client, { reports: false })
  const cache = await createCache({ redis, memory: false, redisDeadline: '2s', name: 'many' })
  const hundred = Array.from({ length: 100 }, (_, i) => keys.row(i))
  for (const each of hundred) await cache.set(each, value)
  const together: number[] = []
  const single: number[] = []
  for (let round = 0; round < rounds * 3; round++) {
    together.push(await timed(() => cache.getMany(hundred)))
    single.push(
      await timed(async () => {
        for (const each of hundred) await cache.get(each)
      }),
    )
  }
  await cache.close()
  const ratio = median(single) / median(together)
  const caches = await Promise.all(
    [1, 2, 3, 4].map(() => createCache({ redis, redisDeadline: '5s', name: 'stampede', fetchDeadline: '30s' })),
  )
  let fetches = 0
  const fetch = async (): Promise<typeof value> => {
    fetches += 1
    await new Promise((resolve) => setTimeout(resolve, 50))
    return value
  }
  const stampede = await timed(() =>
    Promise.all(caches.flatMap((each) => Array.from({ length: 2500 }, () => each.getOrFetch(keys.row('cold'), fetch)))),
  )
  await Promise.all(caches.map((each) => each.close()))
  client.disconnect()
  const ms = (figure: number): string => `${figure.toFixed(2)} ms`
  return [
    {
      section: 'cache',
      title: '100 keys of Redis',
      table: [
        ['how', 'median'],
        ['getMany', ms(median(together))],
        ['get, one after another', ms(median(single))],
      ],
      figures: { together, single },
      targets: [
        {
          claim: 'getMany of 100 at least 10 times as fast as 100 gets',
          ours: ms(median(together)),
          peer: ms(median(single)),
          figure: `${ratio.toFixed(1)}x`,
          met: ratio >= 10,
        },
      ],
    },
    {
      section: 'cache',
      title: '10,000 callers of a cold key, 4 caches, a fetch of 50 ms',
      table: [
        ['fetches', 'all answered after'],
        [String(fetches), ms(stampede)],
      ],
      figures: { fetches, stampede },
      targets: [
        { claim: 'exactly one fetch', ours: String(fetches), peer: '1', figure: String(fetches), met: fetches === 1 },
      ],
    },
  ]
}
