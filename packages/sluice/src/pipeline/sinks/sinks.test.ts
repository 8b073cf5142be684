import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRedis } from '../../stores/redis/index.ts'
import { pipelineSinkConformance } from '../../testing/pipeline-sink-conformance.ts'
import { type PostgresServer, startPostgres } from '../../testing/servers/postgres.ts'
import { type RedisServer, startRedis } from '../../testing/servers/redis.ts'
import {
  createPipeline,
  fileSink,
  memoryPositions,
  type Positions,
  postgresPositions,
  postgresSink,
  redisPositions,
  redisStreamSink,
} from '../index.ts'

const framework = { describe, it, beforeAll, afterAll }
const folder = mkdtempSync(join(tmpdir(), 'sluice-sinks-'))
let redis: RedisServer
let postgres: PostgresServer
let pool: Pool
let client: Redis
let names = 0
beforeAll(async () => {
  ;[redis, postgres] = await Promise.all([startRedis(), startPostgres()])
  pool = new Pool({ connectionString: postgres.url })
  pool.on('error', () => undefined)
  client = new Redis(redis.url)
})
afterAll(async () => {
  client?.disconnect()
  await pool?.end()
  await Promise.all([redis?.stop(), postgres?.stop()])
  rmSync(folder, { recursive: true, force: true })
})

async function newTable(): Promise<string> {
  const table = `rows_${++names}`
  await pool.query(`CREATE TABLE ${table} (id int PRIMARY KEY, name text CHECK (name <> 'bad'), seen serial)`)
  return table
}
const idsOf = async (table: string): Promise<number[]> =>
  (await pool.query(`SELECT id FROM ${table} ORDER BY id`)).rows.map(({ id }) => id)

for (const conflict of [undefined, ['id']])
  pipelineSinkConformance(framework, {
    name: `postgresSink ${conflict ? 'that updates' : 'that inserts'}`,
    async start() {
      const table = await newTable()
      const sink = postgresSink(pool, { table, positions: `${table}_positions`, ...(conflict && { conflict }) })
      return { sink, ids: () => idsOf(table), bad: { id: 17, name: 'bad' }, close: async () => undefined }
    },
  })

pipelineSinkConformance(framework, {
  name: 'redisStreamSink',
  async start() {
    const stream = `stream-${++names}`
    const handle = openRedis(client, { reports: false })
    const ids = async () =>
      (await client.xrange(stream, '-', '+')).map(([, [, text]]) => (JSON.parse(text!) as { id: number }).id)
    return { sink: redisStreamSink(handle, { stream }), ids, close: () => handle.close() }
  },
})

pipelineSinkConformance(framework, {
  name: 'fileSink',
  async start() {
    const path = join(folder, `${++names}.ndjson`)
    const ids = async () =>
      readFileSync(path, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: number }).id)
    return { sink: fileSink(path), ids, close: async () => undefined }
  },
})

describe('postgresSink', () => {
  it('writes the last of several records with one key, and updates only what it is told to', async () => {
    const table = await newTable()
    const source = [
      { id: 1, name: 'first' },
      { id: 1, name: 'second' },
      { id: 2, name: 'only' },
    ]
    const load = async (run: string, update?: string[]) => {
      const sink = postgresSink(pool, { table, conflict: ['id'], ...(update && { update }) })
      const pipeline = await createPipeline<object>({
        name: table,
        run,
        source,
        sink,
        execution: { mode: 'batch', batchSize: 3 },
      })
      await pipeline.run()
      await pipeline.close()
    }
    await load('1')
    await pool.query(`UPDATE ${table} SET name = 'by hand'`)
    await load('2', [])
    expect((await pool.query(`SELECT id, name FROM ${table} ORDER BY id`)).rows).toEqual([
      { id: 1, name: 'by hand' },
      { id: 2, name: 'by hand' },
    ])
    await load('3')
    expect((await pool.query(`SELECT name FROM ${table} WHERE id = 1`)).rows).toEqual([{ name: 'second' }])
  })

  it('finds the bad rows and the last of equal keys in a batch of several COPYs', async () => {
    const table = await newTable()
    const rows = Array.from({ length: 700 }, (_, id) => ({ id: id % 500, name: id === 450 ? 'bad' : `name ${id}` }))
    const rejected: unknown[] = []
    const pipeline = await createPipeline<object>({
      name: table,
      run: '1',
      source: rows,
      sink: postgresSink(pool, { table, conflict: ['id'] }),
      deadLetters: async ({ records }) => void rejected.push(...records.map(({ value }) => value.value)),
    })
    await pipeline.run()
    await pipeline.close()
    expect(rejected).toEqual([rows[450]])
    const expected = new Map(rows.filter((row) => row !== rows[450]).map(({ id, name }) => [id, name]))
    const { rows: written } = await pool.query(`SELECT id, name FROM ${table}`)
    expect(new Map(written.map(({ id, name }) => [id, name]))).toEqual(expected)
  })

  it.each([
    ['rejects what PostgreSQL refuses only at the end of a transaction', [{ id: 1 }, { id: 7, parent: 9 }], [7]],
    [
      'takes a row whose parent comes after it, beside a bad one',
      [{ id: 2, parent: 3 }, { id: 'x' }, { id: 3 }],
      ['x'],
    ],
  ])('%s', async (_, source, expected) => {
    const table = `tree_${++names}`
    await pool.query(`CREATE TABLE ${table} (
      id int PRIMARY KEY, parent int REFERENCES ${table} DEFERRABLE INITIALLY DEFERRED)`)
    const rejected: unknown[] = []
    const pipeline = await createPipeline<object>({
      name: table,
      run: '1',
      source,
      sink: postgresSink(pool, { table }),
      deadLetters: async ({ records }) =>
        void rejected.push(...records.map(({ value }) => (value.value as { id: unknown }).id)),
    })
    await pipeline.run()
    await pipeline.close()
    expect(rejected).toEqual(expected)
    expect(await idsOf(table)).toEqual(source.map(({ id }) => id).filter((id) => !expected.includes(id as never)))
  })

  it('writes the last batch again when PostgreSQL has lost it, and does not call the load done', async () => {
    const table = await newTable()
    const sink = postgresSink(pool, { table })
    let isLost = false
    const pipeline = await createPipeline<object>({
      name: table,
      run: '1',
      source: Array.from({ length: 30 }, (_, id) => ({ id, name: 'x' })),
      sink: {
        ...sink,
        async write(batch, context) {
          await sink.write(batch, context)
          if (batch.next !== '30' || isLost) return
          isLost = true
          await pool.query(`DELETE FROM ${table} WHERE id >= 20`)
          await pool.query(`UPDATE sluice_positions SET next = '20' WHERE pipeline = '${table}@1'`)
        },
      },
      execution: { mode: 'batch', batchSize: 10 },
      lease: '300ms',
    })
    expect(await pipeline.run()).toMatchObject({ outcome: 'done' })
    await pipeline.close()
    expect(await idsOf(table)).toEqual(Array.from({ length: 30 }, (_, id) => id))
  })

  it('keeps the position of a pipeline whatever it is called', async () => {
    const table = await newTable()
    const name = `it's "${table}" \\' $$ ; --`
    const load = async (): Promise<number> => {
      const sink = postgresSink(pool, { table })
      const pipeline = await createPipeline<object>({ name, run: '1', source: [{ id: 1 }], sink })
      const { written } = await pipeline.run()
      await pipeline.close()
      return written
    }
    expect([await load(), await load()]).toEqual([1, 0])
    expect((await pool.query(`SELECT id FROM ${table}`)).rows).toEqual([{ id: 1 }])
  })

  it.each([undefined, ['id']])('rejects what is no row, and a row without its key (conflict: %s)', async (conflict) => {
    const table = await newTable()
    const rejected: unknown[] = []
    const odd = [null, 7, 'text', [1], {}, { name: 'no id' }]
    const pipeline = await createPipeline<unknown>({
      name: table,
      run: '1',
      source: [{ id: 1, name: 'a' }, ...odd, { id: 2, name: 'b' }],
      sink: postgresSink(pool, { table, ...(conflict && { conflict }) }) as never,
      deadLetters: async ({ records }) => void rejected.push(...records.map(({ value }) => value.value)),
    })
    expect(await pipeline.run()).toMatchObject({ written: 2, rejected: odd.length })
    await pipeline.close()
    expect(rejected).toEqual(odd)
    expect(await idsOf(table)).toEqual([1, 2])
  })

  it('ends the run when the table is not there', async () => {
    const sink = postgresSink(pool, { table: 'nowhere' })
    const pipeline = await createPipeline<object>({ name: 'nowhere', run: '1', source: [{ id: 1 }], sink })
    await expect(pipeline.run()).rejects.toThrow('relation "nowhere" does not exist')
    await pipeline.close()
  })

  it.each([undefined, ['id']])('takes the same rows with and without COPY (conflict: %s)', async (conflict) => {
    const text = 'tab\there, line\nthere, \\N, \\. and ümlaut'
    const rows = [
      { id: 1, t: text, n: 1.5, b: true, at: new Date(0), j: 'null' },
      { id: 2, t: '', n: null, b: false, j: '{"a":[1]}' },
      { id: 3, t: '\\N', n: 12345678901234567890n, b: null, at: '2026-11-18T00:00:00Z', j: null },
    ]
    const written = await Promise.all(
      [true, false].map(async (copy) => {
        const table = `types_${++names}`
        await pool.query(
          `CREATE TABLE ${table} (id int PRIMARY KEY, t text, n numeric, b bool, at timestamptz, j text)`,
        )
        const sink = postgresSink(pool, { table, positions: false, copy, ...(conflict && { conflict }) })
        // Numbers beyond those of JSON go only through COPY.
        const source = rows.map((row) => (copy ? row : { ...row, n: row.n === null ? null : String(row.n) }))
        const pipeline = await createPipeline<object>({ name: table, source, sink })
        await pipeline.run()
        await pipeline.close()
        return (await pool.query(`SELECT * FROM ${table} ORDER BY id`)).rows
      }),
    )
    expect(written[0]).toEqual(written[1])
    expect(written[0]![0]).toMatchObject({ t: text, n: '1.5', b: true })
  })

  it('writes every row once when PostgreSQL is restarted in a COPY', async () => {
    const table = await newTable()
    const pipeline = await createPipeline<object>({
      name: 'copying',
      run: '1',
      source: Array.from({ length: 3000 }, (_, id) => ({ id, name: 'x' })),
      sink: postgresSink(pool, { table }),
      execution: { mode: 'batch', batchSize: 1000 },
    })
    // Another one has the table locked, so that the COPY is there to be restarted.
    const locker = await pool.connect()
    locker.on('error', () => undefined)
    await locker.query(`BEGIN; LOCK TABLE ${table}`)
    const running = pipeline.run()
    const copying = `SELECT 1 FROM pg_stat_activity WHERE query LIKE '%COPY "${table}"%' AND wait_event_type = 'Lock'`
    await expect.poll(async () => (await pool.query(copying)).rowCount).toBe(1)
    await postgres.restart()
    locker.release(true)
    await running
    await pipeline.close()
    expect(await idsOf(table)).toEqual(Array.from({ length: 3000 }, (_, id) => id))
    expect(pipeline.stats().failures).toBeGreaterThan(0)
  })

  it('writes every row once when PostgreSQL is restarted in the middle', async () => {
    const table = await newTable()
    const sink = postgresSink(pool, { table })
    const pipeline = await createPipeline<object>({
      name: 'restarted',
      run: '1',
      source: Array.from({ length: 2000 }, (_, id) => ({ id, name: 'x' })),
      sink,
      execution: { mode: 'batch', batchSize: 20 },
    })
    let restarting: Promise<void> | undefined
    pipeline.on('written', () => {
      if (pipeline.stats().written >= 400) restarting ??= postgres.restart()
    })
    await pipeline.run()
    await restarting
    await pipeline.close()
    expect(await idsOf(table)).toEqual(Array.from({ length: 2000 }, (_, id) => id))
    expect(pipeline.stats().failures).toBeGreaterThan(0)
  })
})

describe.each<[string, () => Positions]>([
  ['memoryPositions', () => memoryPositions()],
  ['redisPositions', () => redisPositions(openRedis(client, { reports: false }))],
  ['postgresPositions', () => postgresPositions(pool)],
])('%s', (kind, open) => {
  const pipeline = `claims-${kind}`

  it('lets one of many workers have a partition, and the next one go on where it stopped', async () => {
    const positions = open()
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, i) => positions.claim(pipeline, 'a', `w${i}`, 60_000)),
    )
    const [first, ...more] = claims.filter((claim) => claim !== undefined)
    expect(more).toEqual([])
    expect(await positions.save(first!, { next: '7', done: false, source: 'file' })).toBe(true)
    expect((await positions.list(pipeline))[0]).toMatchObject({
      partition: 'a',
      next: '7',
      owner: expect.stringMatching(/^w/),
    })
    await positions.release(first!)
    const second = await positions.claim(pipeline, 'a', 'next', 60_000)
    expect(second).toMatchObject({ epoch: first!.epoch + 1, next: '7', done: false, source: 'file' })
    expect(await positions.save(first!, { next: '9', done: true, source: 'file' })).toBe(false)
    expect(await positions.extend(first!, 60_000)).toBe(false)
    await positions.release(first!)
    expect(await positions.claim(pipeline, 'a', 'third', 60_000)).toBeUndefined()
  })

  it('gives a partition away when its worker does not extend the claim, and not before', async () => {
    const positions = open()
    const kept = await positions.claim(pipeline, 'b', 'one', 60_000)
    expect(await positions.claim(pipeline, 'b', 'two', 1000)).toBeUndefined()
    expect(await positions.extend(kept!, 150)).toBe(true)
    await expect.poll(() => positions.claim(pipeline, 'b', 'two', 60_000)).toBeDefined()
    expect(await positions.extend(kept!, 60_000)).toBe(false)
  })
})
