import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRedis } from '../../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { createIngest } from './create-ingest.ts'
import type { EventResult } from './ingest.ts'
import { memoryIds } from './memory-ids.ts'
import { redisIds } from './redis-ids.ts'
import type { SeenIds } from './seen-ids.ts'

let redis: RedisServer
let client: Redis
beforeAll(async () => {
  redis = await startRedis()
  client = new Redis({ port: redis.port, lazyConnect: true })
})
afterAll(async () => {
  client.disconnect()
  await redis.stop()
})

let services = 0
const stores: [string, () => SeenIds][] = [
  ['in process', () => memoryIds(virtualClock(), 100)],
  ['in Redis', () => redisIds(openRedis(client, { service: `attack-${++services}`, reports: false }), 86_400_000)],
]

const batch = (...ids: string[]) => ({ events: ids.map((id) => ({ id, data: { id } })) })
const statuses = (body: unknown) => (body as { results: EventResult[] }).results.map(({ status }) => status)

describe.each(stores)('an ingest that remembers ids %s', (_, makeIds) => {
  it('does not let go of events of another batch that a result names', async () => {
    const stored: string[][] = []
    let go = (): void => {}
    const accept = async (events: readonly { readonly id: string }[]) => {
      stored.push(events.map(({ id }) => id))
      const isFirst = events[0]!.id === 'p-1'
      if (isFirst)
        await new Promise<void>((resolve) => {
          go = resolve
        })
      return { rejected: new Map(isFirst ? [] : ['p-1', 'p-2'].map((id) => [id, 'no such table'] as const)) }
    }
    const ingest = await createIngest({ ids: makeIds(), accept })
    const first = ingest.receive(batch('p-1'))
    await expect.poll(() => stored.length).toBe(1)
    expect(statuses((await ingest.receive(batch('p-2'))).body)).toEqual(['rejected'])
    expect((await ingest.receive(batch('p-1'))).status).toBe(503)
    go()
    expect(statuses((await first).body)).toEqual(['ok'])
    expect(stored).toEqual([['p-1'], ['p-2']])
    await ingest.close()
  })

  it('takes an event that was rejected once it is sent again and the reason is gone', async () => {
    const reasons = new Map([['p-2', 'no such table']])
    const ingest = await createIngest({ ids: makeIds(), accept: async () => ({ rejected: new Map(reasons) }) })
    expect(statuses((await ingest.receive(batch('p-1', 'p-2', 'p-3'))).body)).toEqual(['ok', 'rejected', 'ok'])
    reasons.clear()
    expect(statuses((await ingest.receive(batch('p-2'))).body)).toEqual(['ok'])
    expect(statuses((await ingest.receive(batch('p-1', 'p-2', 'p-3'))).body)).toEqual(Array(3).fill('duplicate'))
    await ingest.close()
  })

  it('does not confuse ids that only look alike', async () => {
    const taken: string[] = []
    const ingest = await createIngest({
      ids: makeIds(),
      accept: (events) => void taken.push(...events.map(({ id }) => id)),
    })
    const ids = ['a', 'a-0', 'a-1', 'a-00', 'a-01', '-1', '1', 'a--1', 'a-1-1', 'a-9007199254740993', 'a-1e3', 'a-1000']
    expect(statuses((await ingest.receive(batch(...ids))).body)).toEqual(ids.map(() => 'ok'))
    expect(taken).toEqual(ids)
    await ingest.close()
  })

  it('accepts an id that is twice in a batch once', async () => {
    const taken: string[] = []
    const ingest = await createIngest({
      ids: makeIds(),
      accept: (events) => void taken.push(...events.map(({ id }) => id)),
    })
    expect(statuses((await ingest.receive(batch('p-1', 'p-1'))).body)).toEqual(['ok', 'ok'])
    expect(statuses((await ingest.receive(batch('p-1'))).body)).toEqual(['duplicate'])
    expect(taken).toEqual(['p-1'])
    await ingest.close()
  })

  it('acknowledges nothing of a batch whose storing fails midway', async () => {
    const taken = new Set<string>()
    let fails = true
    const accept = async (events: readonly { id: string }[]) => {
      for (const [i, { id }] of events.entries()) {
        if (fails && i === 2) throw new Error('connection lost')
        taken.add(id)
      }
    }
    const ingest = await createIngest({ ids: makeIds(), accept })
    expect((await ingest.receive(batch('p-1', 'p-2', 'p-3', 'p-4'))).status).toBe(503)
    fails = false
    expect(statuses((await ingest.receive(batch('p-1', 'p-2', 'p-3', 'p-4'))).body)).toEqual(Array(4).fill('ok'))
    expect(taken.size).toBe(4)
    await ingest.close()
  })
})

it('passes on an error about the batch, and no other', async () => {
  let status: unknown = 400
  const accept = () => Promise.reject(Object.assign(new Error('what is that'), { status }))
  const ingest = await createIngest({ accept })
  for (status of [400, 413, 422]) expect((await ingest.receive(batch('p-1'))).status).toBe(status)
  for (status of [200, 401, 404, 500, '400', undefined]) expect((await ingest.receive(batch('p-1'))).status).toBe(503)
  await ingest.close()
})

it('gives the same results in process and in Redis, on random histories with gaps', async () => {
  let state = 12_345
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  const twins = [
    memoryIds(virtualClock(), 100),
    redisIds(openRedis(client, { service: 'twins', reports: false }), 86_400_000),
  ] as const
  for (let step = 0; step < 150; step++) {
    const ids = Array.from({ length: 1 + Math.floor(random() * 20) }, () => `p-${Math.floor(random() * 400)}`)
    const unique = [...new Set(ids)]
    const [inProcess, inRedis] = await Promise.all(twins.map((twin) => twin.claim(unique)))
    expect({ step, seen: inRedis }).toEqual({ step, seen: inProcess })
    const fresh = unique.filter((_, i) => inProcess?.[i] === 'new')
    const finished = fresh.filter(() => random() < 0.7)
    for (const twin of twins) {
      await twin.finish(finished)
      await twin.release(fresh.filter((id) => !finished.includes(id)))
    }
  }
  for (const twin of twins) await twin.close()
})

it('a producer that leaves a gap in its numbers does not cost memory for every event after it', async () => {
  const ids = redisIds(openRedis(client, { service: 'gap', reports: false }), 86_400_000)
  for (const seq of [1, 3]) await ids.finish([`p-${seq}`])
  for (let from = 4; from < 5000; from += 500) await ids.finish(Array.from({ length: 500 }, (_, i) => `p-${from + i}`))
  const [key = ''] = await client.keys('*gap*')
  expect(await client.hlen(key)).toBe(1)
  expect(await ids.claim(['p-2', 'p-3', 'p-4999'])).toEqual(['new', 'done', 'done'])
  await ids.close()
})
