import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRedis } from '../../stores/redis/index.ts'
import { pipelineSourceConformance } from '../../testing/pipeline-source-conformance.ts'
import { type PostgresServer, startPostgres } from '../../testing/servers/postgres.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import { waitFor } from '../../testing/wait-for.ts'
import {
  createPipeline,
  type DeadLetter,
  fileSource,
  postgresSource,
  redisPositions,
  redisStreamSource,
} from '../index.ts'
import { iterableSource } from './iterable-source.ts'

const framework = { describe, it, beforeAll, afterAll }
const folder = mkdtempSync(join(tmpdir(), 'sluice-sources-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let redis: RedisServer
let postgres: PostgresServer
beforeAll(async () => {
  ;[redis, postgres] = await Promise.all([startRedis(), startPostgres()])
})
afterAll(async () => {
  await Promise.all([redis?.stop(), postgres?.stop()])
})

const close = async (): Promise<void> => undefined
const lines = (values: readonly object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('')

pipelineSourceConformance(framework, {
  name: 'a function that returns an iterable',
  mode: 'batch',
  strategies: ['hash', 'round_robin'],
  async start() {
    const kept = new Map<string, object[]>()
    return {
      open: (name) => iterableSource(() => kept.get(name)!),
      add: async (name, values) => void kept.set(name, [...(kept.get(name) ?? []), ...values]),
      close,
    }
  },
})

pipelineSourceConformance(framework, {
  name: 'fileSource of JSON lines',
  mode: 'batch',
  strategies: ['hash', 'range', 'round_robin'],
  start: async () => ({
    open: (name) => fileSource(join(folder, `${name}.ndjson`)),
    add: async (name, values) => appendFileSync(join(folder, `${name}.ndjson`), lines(values)),
    addNonsense: async (name) => appendFileSync(join(folder, `${name}.ndjson`), '\n{ "id": \r\n\n'),
    close,
  }),
})

pipelineSourceConformance(framework, {
  name: 'fileSource of compressed JSON lines',
  mode: 'batch',
  strategies: ['hash', 'round_robin'],
  start: async () => ({
    open: (name) => fileSource(join(folder, `${name}.ndjson.gz`)),
    add: async (name, values) => appendFileSync(join(folder, `${name}.ndjson.gz`), gzipSync(lines(values))),
    close,
  }),
})

pipelineSourceConformance(framework, {
  name: 'fileSource of CSV',
  mode: 'batch',
  strategies: ['hash', 'round_robin'],
  start: async () => ({
    open: (name) => fileSource(join(folder, `${name}.csv`)),
    async add(name, values) {
      const path = join(folder, `${name}.csv`)
      const rows = values.map(({ id, tenant }) => `${id},"${tenant}","two\nlines, and ""quotes"""\n`).join('')
      try {
        readFileSync(path)
        appendFileSync(path, rows)
      } catch {
        writeFileSync(path, `id,tenant,text\n${rows}`)
      }
    },
    addNonsense: async (name) => appendFileSync(join(folder, `${name}.csv`), '1,2,3,4,5\n'),
    close,
  }),
})

pipelineSourceConformance(framework, {
  name: 'postgresSource',
  mode: 'batch',
  strategies: ['hash'],
  async start() {
    const pool = new Pool({ connectionString: postgres.url })
    return {
      open: (name) => postgresSource(pool, { table: name, key: ['tenant', 'id'].slice(1) }),
      async add(name, values) {
        await pool.query(`CREATE TABLE IF NOT EXISTS "${name}" (id bigint PRIMARY KEY, tenant text)`)
        await pool.query(`INSERT INTO "${name}" SELECT * FROM json_populate_recordset(NULL::"${name}", $1)`, [
          JSON.stringify(values),
        ])
      },
      close: () => pool.end(),
    }
  },
})

for (const group of [undefined, 'readers'])
  pipelineSourceConformance(framework, {
    name: `redisStreamSource ${group ? 'with' : 'without'} a group`,
    mode: 'streaming',
    async start() {
      const client = new Redis(redis.url)
      const handle = openRedis(client, { reports: false })
      return {
        open: (name) => redisStreamSource(handle, { stream: `${name}-${group}`, ...(group && { group }) }),
        async add(name, values) {
          for (const value of values) await client.xadd(`${name}-${group}`, '*', 'value', JSON.stringify(value))
        },
        addNonsense: async (name) => void (await client.xadd(`${name}-${group}`, '*', 'value', '{')),
        async close() {
          await handle.close()
          client.disconnect()
        },
      }
    },
  })

describe('fileSource', () => {
  it('ends the run with the place and the reason when a file is damaged', async () => {
    const path = join(folder, 'cut.ndjson.gz')
    writeFileSync(path, gzipSync(lines(Array.from({ length: 5000 }, (_, id) => ({ id })))).subarray(0, 500))
    const pipeline = await createPipeline({ name: 'cut', source: fileSource(path), sink: async () => undefined })
    await expect(pipeline.run()).rejects.toThrow('cut.ndjson.gz cannot be read')
    await pipeline.close()
  })

  it('rejects integers that would be rounded, so that two ids never become one', async () => {
    const path = join(folder, 'ids.ndjson')
    const exact = ['{"id":9007199254740992}', '{"id":"9007199254740993"}', '{"id":0.12345678901234567}', '{"id":1e300}']
    const rounded = [
      '{"id":9007199254740993}',
      '{"a":"\\"","ids":[-12345678901234567891]}',
      `{"id":${'9'.repeat(400)}}`,
    ]
    writeFileSync(path, [...exact, ...rounded].join('\n'))
    const written: unknown[] = []
    const reasons: string[] = []
    const pipeline = await createPipeline({
      name: 'ids',
      source: fileSource(path),
      sink: async ({ records }) => void written.push(...records.map(({ value }) => value)),
      deadLetters: async ({ records }) => void reasons.push(...records.map(({ value }) => JSON.stringify(value))),
    })
    expect(await pipeline.run()).toMatchObject({ written: 4, rejected: 3 })
    expect(written).toEqual(exact.map((line) => JSON.parse(line)))
    expect(reasons[0]).toContain('the number 9007199254740993 would be rounded')
    expect(reasons[0]).toContain('{\\"id\\":9007199254740993}')
    await pipeline.close()
  })

  it('rejects a line that is too long, keeps its beginning, and goes on after it', async () => {
    const path = join(folder, 'long.ndjson')
    const long = `{"id":1,"text":"${'é'.repeat(12 * 1024 * 1024)}"}`
    writeFileSync(path, ['{"id":0}', long, '{"id":2}', long].join('\n'))
    const bytes = Buffer.byteLength(long)
    for (const partitions of [1, 3]) {
      const written: unknown[] = []
      const letters: DeadLetter[] = []
      const pipeline = await createPipeline({
        name: 'long',
        source: fileSource(path),
        sink: async ({ records }) => void written.push(...records.map(({ value }) => value)),
        deadLetters: async ({ records }) => void letters.push(...records.map(({ value }) => value)),
        execution: { mode: 'batch', partitioning: { strategy: 'range', partitions } },
      })
      expect(await pipeline.run()).toMatchObject({ written: 2, rejected: 2 })
      expect(written).toEqual(expect.arrayContaining([{ id: 0 }, { id: 2 }]))
      const [first, last] = letters.sort((a, b) => Number.parseInt(a.position, 10) - Number.parseInt(b.position, 10))
      expect(first!.position.split(':')[0]).toBe(String(9 + bytes + 1))
      expect(last!.position.split(':')[0]).toBe(String(9 + bytes + 1 + 9 + bytes))
      for (const { value, reason } of letters) {
        expect(reason).toBe('the line has more than 16777216 bytes')
        expect(long.startsWith(String(value).slice(0, 1000))).toBe(true)
        expect(String(value).length).toBeLessThanOrEqual(10_000)
      }
      await pipeline.close()
    }
  })

  it.each([
    ['a quote inside a field', 'id,name\n1,b"c\n', 'quote'],
    ['a quoted field that goes on after its quote', 'id,name\n1,"b"c\n', 'quote'],
    ['a quote that is never closed', `id,name\n1,"${'b'.repeat(17 << 20)}\n`, 'Max Record Size'],
    ['two columns of one name, of which one would be lost', 'id,name,id\n1,b,2\n', 'two columns named id'],
  ])('ends the run at %s', async (_, text, why) => {
    const path = join(folder, 'odd.csv')
    writeFileSync(path, text)
    const pipeline = await createPipeline({ name: 'odd', source: fileSource(path), sink: async () => undefined })
    await expect(pipeline.run()).rejects.toMatchObject({
      code: 'SLUICE_PIPELINE_FAILED',
      message: expect.stringMatching(new RegExp(`odd.csv cannot be read: .*${why}`, 'i')),
    })
    await pipeline.close()
  })
})

describe.each([undefined, 'readers'])('redisStreamSource with the group %s', (group) => {
  it('shares streams among 1, 3 and 2 workers, and loses nothing', { timeout: 120_000 }, async () => {
    const client = new Redis(redis.url)
    const handle = openRedis(client, { reports: false })
    const streams = Array.from({ length: 6 }, (_, i) => `shared-${group}:${i}`)
    const times = new Map<number, number>()
    let sent = 0
    const send = async (count: number): Promise<void> => {
      for (const last = sent + count; sent < last; sent++)
        await client.xadd(streams[sent % 6]!, '*', 'value', JSON.stringify({ id: sent }))
    }
    const positions = redisPositions(handle)
    const start = async () => {
      const pipeline = await createPipeline<{ id: number }>({
        name: `shared-${group}`,
        source: redisStreamSource(handle, { stream: streams, claimAfter: '10s', ...(group && { group }) }),
        sink: async ({ records }) => {
          for (const { value } of records) times.set(value.id, (times.get(value.id) ?? 0) + 1)
        },
        positions,
        execution: { mode: 'streaming', batchSize: 10, parallelism: 2, checkpointIntervalMs: 1 },
      })
      const running = pipeline.run()
      const close = async (): Promise<void> => {
        await pipeline.close()
        await running
      }
      return { close, written: () => pipeline.stats().written }
    }
    const all = () => waitFor(() => times.size === sent, { timeoutMs: 30_000 })
    await send(120)
    const one = await start()
    await all()
    const [two, three] = [await start(), await start()]
    await send(300)
    await all()
    await one.close()
    await send(300)
    await all()
    await waitFor(
      async () => {
        // Whoever is idle takes what nobody has; with a group every worker is given something.
        await send(60)
        await all()
        return two.written() > 0 && (group === undefined || three.written() > 0)
      },
      { timeoutMs: 30_000 },
    )
    await Promise.all([two.close(), three.close()])
    // All of them left in order.
    expect([...times.values()].every((count) => count === 1)).toBe(true)
    await handle.close()
    client.disconnect()
  })
})

describe('redisStreamSource with a group', () => {
  it('takes over from a worker that died, counts what was trimmed, and rejects what was handed out too often', async () => {
    const client = new Redis(redis.url)
    const handle = openRedis(client, { reports: false })
    for (let id = 0; id < 20; id++) await client.xadd('left', '*', 'value', JSON.stringify({ id }))
    await client.xgroup('CREATE', 'left', 'g', '0')
    await client.xreadgroup('GROUP', 'g', 'dead', 'COUNT', '10', 'STREAMS', 'left', '>')
    const poison = (await client.xrange('left', '-', '+', 'COUNT', '1'))[0]![0]
    await client.xclaim('left', 'g', 'dead', 0, poison, 'RETRYCOUNT', 9)
    // Of the ten that the dead worker has, the second and third are gone.
    const ids = (await client.xrange('left', '-', '+')).map(([id]) => id)
    await client.xdel('left', ids[1]!, ids[2]!)
    const written: number[] = []
    const rejected: string[] = []
    const pipeline = await createPipeline<{ id: number }>({
      name: 'left',
      // Longer than a batch takes on a busy machine: the worker must not take over from itself.
      source: redisStreamSource(handle, { stream: 'left', group: 'g', claimAfter: 2000 }),
      sink: async ({ records }) => void written.push(...records.map(({ value }) => value.id)),
      deadLetters: async ({ records }) => void rejected.push(...records.map(({ value }) => value.reason)),
      execution: { mode: 'streaming', batchSize: 4 },
    })
    const running = pipeline.run()
    await expect.poll(() => written.length).toBe(17)
    await pipeline.close()
    await running
    expect(written.sort((a, b) => a - b)).toEqual(Array.from({ length: 17 }, (_, i) => i + 3))
    expect(rejected).toEqual([expect.stringContaining('handed out more than 5 times')])
    expect(pipeline.stats().lost).toBe(2)
    expect((await client.xpending('left', 'g'))[0]).toBe(0)
    await handle.close()
    client.disconnect()
  })
})
