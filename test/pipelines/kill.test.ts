import { Redis } from 'ioredis'
import { waitFor } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { end, kills, type Place, records, startPlace, timeout } from './place.ts'
import { killWorkers } from './workers.ts'

let place: Place
let client: Redis
beforeAll(async () => {
  place = await startPlace()
  client = new Redis(place.redis.url)
})
afterAll(async () => {
  client?.disconnect()
  await place?.close()
})
const prepare: Place['prepare'] = (...args) => place.prepare(...args)
const rowsOf: Place['rowsOf'] = (table) => place.rowsOf(table)
const progressOf = (table: string) => async (): Promise<number> => (await rowsOf(table)).distinct
const batch = {
  mode: 'batch',
  batchSize: 10,
  parallelism: 2,
  partitioning: { strategy: 'hash', key: 'tenant', partitions: 8 },
}

describe(`workers that are killed ${kills} times`, () => {
  it('load every record of a file once into PostgreSQL, and end by themselves', { timeout }, async () => {
    const start = await prepare('load', {
      source: { file: 'rows.ndjson' },
      sink: { postgres: 'load' },
      execution: batch,
    })
    const workers = await killWorkers(start, { count: 3, kills, progress: progressOf('load') })
    const codes = await Promise.all(workers.map(({ ended }) => ended))
    expect(codes, workers.map(({ out }) => out()).join('\n')).toEqual([0, 0, 0])
    expect(await place.count('load')).toEqual({ repeated: 0, lost: 0 })
  })

  it('load every record where positions are in Redis, and repeat at most one batch of each partition', {
    timeout,
  }, async () => {
    const sink = { postgres: 'repeated', positions: false }
    const start = await prepare('repeated', { source: { file: 'rows.ndjson' }, sink, execution: batch })
    const workers = await killWorkers(start, { count: 3, kills, progress: progressOf('repeated') })
    await Promise.all(workers.map(({ ended }) => ended))
    const { repeated, lost } = await place.count('repeated')
    expect(lost).toBe(0)
    expect(repeated).toBeLessThanOrEqual(kills * batch.parallelism * batch.batchSize)
  })

  it('write every entry of a stream once into PostgreSQL, with the position in the transaction', {
    timeout,
  }, async () => {
    const start = await prepare('streamed', {
      source: { 'redis-stream': ['s:0', 's:1', 's:2'] },
      sink: { postgres: 'streamed' },
      execution: { mode: 'streaming', batchSize: 10, parallelism: 2 },
    })
    await addTo((id) => `s:${id % 3}`)
    const workers = await killWorkers(start, { count: 2, kills, progress: progressOf('streamed') })
    await waitFor(async () => (await rowsOf('streamed')).distinct === records, { timeoutMs: 60_000 })
    await end(workers)
    expect(await place.count('streamed')).toEqual({ repeated: 0, lost: 0 })
  })

  it('write every entry of a stream with a group, and repeat at most what was in hand', { timeout }, async () => {
    const start = await prepare('grouped', {
      source: { 'redis-stream': 'g', group: 'readers', claimAfter: '1s', maxDeliveries: 1000 },
      sink: { postgres: 'grouped', positions: false },
      execution: { mode: 'streaming', batchSize: 10, parallelism: 2 },
    })
    await addTo(() => 'g')
    const workers = await killWorkers(start, { count: 3, kills, progress: progressOf('grouped') })
    await waitFor(async () => (await rowsOf('grouped')).distinct === records, { timeoutMs: 60_000 })
    await end(workers)
    const { repeated } = await place.count('grouped')
    // Each consumer has a batch in hand and one read ahead; only the first may have been written already.
    expect(repeated).toBeLessThanOrEqual(kills * 2 * 10)
    expect((await client.xpending('g', 'readers'))[0]).toBe(0)
  })
})

describe('a worker that is stopped for longer than its claim', () => {
  it('writes nothing when it wakes up: another has finished, and no row is there twice', { timeout }, async () => {
    const start = await prepare('stopped', {
      source: { file: 'rows.ndjson' },
      sink: { postgres: 'stopped' },
      execution: batch,
    })
    const first = start()
    await waitFor(async () => (await rowsOf('stopped')).total > 50, { timeoutMs: 30_000 })
    first.child.kill('SIGSTOP')
    const second = start()
    expect(await second.ended, second.out()).toBe(0)
    expect(await place.count('stopped')).toEqual({ repeated: 0, lost: 0 })
    first.child.kill('SIGCONT')
    expect(await first.ended, first.out()).toBe(0)
    expect(await place.count('stopped')).toEqual({ repeated: 0, lost: 0 })
  })
})

async function addTo(stream: (id: number) => string): Promise<void> {
  const pipeline = client.pipeline()
  for (let id = 0; id < records; id++) pipeline.xadd(stream(id), '*', 'value', JSON.stringify({ id, tenant: 't' }))
  await pipeline.exec()
}
