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
  ['in Redis', () => redisIds(openRedis(client, { service: `ingest-${++services}`, reports: false }), 86_400_000)],
]

const batch = (...ids: string[]) => ({ events: ids.map((id) => ({ id, data: { id } })) })
const statuses = (body: unknown) => (body as { results: EventResult[] }).results.map(({ status }) => status)

describe.each(stores)('an ingest that remembers ids %s', (_, makeIds) => {
  it('accepts each event once, whatever is sent again and in whatever order', async () => {
    const ids = makeIds()
    const taken: string[] = []
    const ingest = await createIngest({ ids, accept: (events) => void taken.push(...events.map(({ id }) => id)) })
    expect(statuses((await ingest.receive(batch('p-5', 'p-6', 'q-1'))).body)).toEqual(['ok', 'ok', 'ok'])
    expect(statuses((await ingest.receive(batch('p-6', 'p-8', 'p-7'))).body)).toEqual(['duplicate', 'ok', 'ok'])
    // Below the first number ever seen: nothing is known about it, so it is new.
    expect(statuses((await ingest.receive(batch('p-4', 'p-8', 'odd id?'.replaceAll(' ', '_')))).body)).toEqual([
      'ok',
      'duplicate',
      'ok',
    ])
    expect(statuses((await ingest.receive(batch('p-4', 'odd_id?'))).body)).toEqual(['duplicate', 'duplicate'])
    expect(taken.sort()).toEqual(['odd_id?', 'p-4', 'p-5', 'p-6', 'p-7', 'p-8', 'q-1'].sort())
    expect(ingest.stats()).toMatchObject({ accepted: 7, duplicates: 4 })
    await ingest.close()
  })

  it('answers retry for events that could not be stored, and accepts them later', async () => {
    let fails = true
    const taken: string[] = []
    const accept = async (events: readonly { id: string }[]) => {
      if (fails) throw new Error('disk full')
      taken.push(...events.map(({ id }) => id))
    }
    const ingest = await createIngest({ ids: makeIds(), accept })
    expect((await ingest.receive(batch('p-1', 'p-2'))).status).toBe(503)
    fails = false
    expect(statuses((await ingest.receive(batch('p-1', 'p-2'))).body)).toEqual(['ok', 'ok'])
    expect(taken).toEqual(['p-1', 'p-2'])
    await ingest.close()
  })

  it('answers 503 for a batch of which another request is storing events, and claims none of it', async () => {
    let go: () => void = () => {}
    const waiting = new Promise<void>((resolve) => {
      go = resolve
    })
    const ingest = await createIngest({ ids: makeIds(), accept: () => waiting })
    const first = ingest.receive(batch('p-1'))
    await expect.poll(async () => (await ingest.receive(batch('p-1'))).status).toBe(503)
    // With single answers, a shipper would set aside what stays with a collector that has died.
    expect((await ingest.receive(batch('p-1', 'p-2'))).status).toBe(503)
    go()
    expect(statuses((await first).body)).toEqual(['ok'])
    expect(statuses((await ingest.receive(batch('p-1', 'p-2'))).body)).toEqual(['duplicate', 'ok'])
    await ingest.close()
  })

  it('names what was refused permanently, with the reason', async () => {
    const accept = async () => ({ rejected: new Map([['p-2', 'no such table']]) })
    const ingest = await createIngest({ ids: makeIds(), accept })
    expect((await ingest.receive(batch('p-1', 'p-2'))).body).toEqual({
      results: [
        { id: 'p-1', status: 'ok' },
        { id: 'p-2', status: 'rejected', reason: 'no such table' },
      ],
    })
    await ingest.close()
  })
})

describe('a batch', () => {
  it.each([
    undefined,
    null,
    5,
    'text',
    {},
    { events: 1 },
    { events: [null] },
    { events: [{ id: 'a b' }] },
    { events: [{ id: '' }] },
  ])('%j is malformed and refused', async (body) => {
    const ingest = await createIngest({ accept: () => {} })
    expect(await ingest.receive(body)).toMatchObject({ status: 400, body: { error: expect.any(String) } })
    await ingest.close()
  })
})

it('a claim of a process that died expires', async () => {
  const clock = virtualClock()
  const ids = memoryIds(clock, 10)
  expect(await ids.claim(['p-1'])).toEqual(['new'])
  expect(await ids.claim(['p-1'])).toEqual(['pending'])
  await clock.advance('61s')
  expect(await ids.claim(['p-1'])).toEqual(['new'])
})

it('keeps one run of events as two numbers, and only the most recent producers', async () => {
  const ids = memoryIds(virtualClock(), 3)
  for (let i = 1; i <= 5; i++) await ids.finish([`p${i}-1`])
  expect(await ids.claim(['p5-1'])).toEqual(['done'])
  expect(await ids.claim(['p1-1'])).toEqual(['new'])
})
