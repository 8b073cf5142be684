import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { readEnv } from 'example-service'
import { openPool } from 'example-service/postgres'
import { Redis } from 'ioredis'
import type { Pool } from 'pg'
import { type PostgresServer, type RedisServer, startPostgres, startRedis, waitFor } from 'sluice/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWorker, type WorkerProcess } from '../../test/pipelines/workers.ts'
import { recommendApi } from './src/app.ts'
import { Database } from './src/data/database.ts'
import { readEnrichment } from './src/data/enrichment.ts'
import { startServices } from './src/services.ts'
import { readSettings } from './src/settings.ts'
import { createTracing } from './src/tracing.ts'

const timeout = 240_000
const [offers, customers, interactions] = [3000, 6000, 8000]
const folder = mkdtempSync(join(tmpdir(), 'sluice-recommend-'))
const workers: WorkerProcess[] = []
let postgres: PostgresServer
let redis: RedisServer
let client: Redis
let pool: Pool
let database: Database

beforeAll(async () => {
  ;[postgres, redis] = await Promise.all([startPostgres(), startRedis()])
  client = new Redis(redis.url)
  pool = openPool(postgres.url)
  database = new Database(pool)
  await database.prepare()
  // The documents as they are, beside files of this test.
  cpSync(join(import.meta.dirname, 'pipelines'), join(folder, 'pipelines'), { recursive: true })
  symlinkSync(join(import.meta.dirname, 'dist'), join(folder, 'dist'))
  mkdirSync(join(folder, 'pipelines', 'data'), { recursive: true })
}, timeout)
afterAll(async () => {
  for (const { child } of workers) child.kill('SIGKILL')
  client?.disconnect()
  await pool?.end()
  await Promise.all([postgres?.stop(), redis?.stop()])
  rmSync(folder, { recursive: true, force: true })
})

const data = (name: string): string => join(folder, 'pipelines', 'data', name)
const count = async (from: string): Promise<number> =>
  (await pool.query(`SELECT count(*)::int AS count FROM ${from}`)).rows[0].count

function work(...names: string[]): WorkerProcess {
  const documents = names.map((name) => join(folder, 'pipelines', `${name}.yaml`))
  const policy = ['--policy', join(folder, 'pipelines', 'sluice.yaml'), '--redis', redis.url]
  const worker = startWorker([...documents, ...policy], { DATABASE_URL: postgres.url })
  workers.push(worker)
  return worker
}

/** Kills a worker in the middle of its work, and starts another. */
async function replace(worker: WorkerProcess, isUnderWay: () => Promise<boolean>, ...names: string[]) {
  await waitFor(isUnderWay, { timeoutMs: 90_000, describe: `${names} are being written: ${worker.out()}` })
  worker.child.kill('SIGKILL')
  await worker.ended
  return work(...names)
}

test('the nightly files are loaded by two workers of which one is killed: every row is there, once', {
  timeout,
}, async () => {
  const lines = Array.from({ length: offers }, (_, i) => ({ tenant: 'acme', id: `offer-${i}`, mandatory: i === 0 }))
  const [last] = lines.slice(-1)
  writeFileSync(data('offers.ndjson.gz'), gzipSync([...lines, { ...last, paced: 'yes' }].map(toLine).join('')))
  const rows = Array.from({ length: customers }, (_, i) => `acme,c${i},${i * 10},${500 + (i % 300)},gold`)
  const header = 'tenant,customer_id,loan_amount,credit_score,segment'
  writeFileSync(data('customers.csv.gz'), gzipSync([header, ...rows, ''].join('\n')))

  const names = ['offers', 'customers']
  const [first, second] = [work(...names), work(...names)]
  const third = await replace(first, async () => (await count('customer_data')) > 0, ...names)
  const codes = await Promise.all([second.ended, third.ended])
  expect(codes, second.out() + third.out()).toEqual([0, 0])
  expect([await count('entities'), await count('customer_data')]).toEqual([offers, customers])
  // Rows that were updated were written more than once.
  const { rows: twice } = await pool.query('SELECT count(*)::int AS count FROM customer_data WHERE xmax <> 0')
  expect(twice).toEqual([{ count: 0 }])
  expect(JSON.parse(readFileSync(data('offers-rejected.ndjson'), 'utf8').split('\n')[0]!)).toMatchObject({
    pipeline: 'recommend-offers',
    reason: expect.stringContaining('paced'),
  })
})

test('what other channels delivered is counted once, though a worker is killed, and the cap keeps to it', {
  timeout,
}, async () => {
  const at = new Date().toISOString()
  const names = ['interactions']
  const [first, second] = [work(...names), work(...names)]
  const events = Array.from({ length: interactions }, (_, i) => {
    const customer = i % 500
    const value = { id: `i${i}`, tenant: 'acme', customer: `c${customer}`, offer: 'offer-0', mandatory: i < 2000, at }
    return [`interactions:${customer % 4}`, JSON.stringify(value)] as const
  })
  const send = async (some: typeof events): Promise<void> => {
    const pipeline = client.pipeline()
    for (const [stream, value] of some) pipeline.xadd(stream, '*', 'value', value)
    await pipeline.exec()
  }
  await send(events.slice(0, interactions / 2))
  const third = await replace(first, async () => (await count('interactions')) > 0, ...names)
  await send(events.slice(interactions / 2))
  // A producer that does not know whether it was heard says it again.
  await send(events.slice(0, 50))
  await client.xadd('interactions:0', '*', 'value', '{"id":"incomplete"}')
  await waitFor(async () => (await count('interactions')) === interactions, { timeoutMs: 120_000 })
  await waitFor(async () => (await client.xlen('interactions:rejected')) > 0, { timeoutMs: 60_000 })
  for (const worker of [second, third]) {
    await waitFor(() => worker.out().includes('working on'), { timeoutMs: 60_000 })
    worker.child.kill('SIGTERM')
    expect(await worker.ended, worker.out()).toBe(0)
  }
  const { rows } = await pool.query('SELECT delivered, count(*)::int AS customers FROM mandatory_deliveries GROUP BY 1')
  expect(rows).toEqual([{ delivered: 4, customers: 500 }])

  const services = await startServices({
    ...{ redis: client, database, deadlineMs: 3000 },
    settings: readSettings(readEnv({})),
    enrichment: await readEnrichment(new URL('./enrichment.json', import.meta.url)),
    tracing: createTracing({ sampleRate: 0 }),
    callModel: async (_, { offers: scored }) => scored.map(() => 0.9),
  })
  const server = recommendApi(services).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const mandatoryFor = async (customer: string): Promise<number> => {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/recommend`, {
      method: 'POST',
      headers: { 'x-tenant-id': 'acme', 'content-type': 'application/json' },
      body: JSON.stringify({ customer_id: customer }),
    })
    const { offers: shown } = (await response.json()) as { offers: { mandatory: boolean }[] }
    return shown.filter(({ mandatory }) => mandatory).length
  }
  try {
    // Five a day: this customer got four elsewhere.
    expect([await mandatoryFor('c1'), await mandatoryFor('c1'), await mandatoryFor('c1')]).toEqual([1, 0, 0])
    expect([await mandatoryFor('c900'), await mandatoryFor('c900')]).toEqual([1, 1])
  } finally {
    server.close()
    server.closeAllConnections()
    await services.close()
  }
})

const toLine = (value: object): string => `${JSON.stringify(value)}\n`
