import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'pg'
import { type RedisServer, startPostgres, startRedis, waitFor } from 'sluice/testing'
import { expect } from 'vitest'
import { startWorker, type WorkerProcess } from './workers.ts'

export const kills = Number(process.env.SLUICE_PIPELINE_KILLS ?? 3)
export const timeout = 120_000 + kills * 15_000
/** More than the workers can write before the last kill. */
export const records = 1000 + kills * 500

/** Where workers load from and write to. */
export interface Place {
  readonly redis: RedisServer
  /** Writes a document whose sink is a table without any key, so that a row that is written twice is there twice. */
  prepare(name: string, document: object, env?: Readonly<Record<string, string>>): Promise<() => WorkerProcess>
  rowsOf(table: string): Promise<{ total: number; distinct: number }>
  /** How many records were written more than once, and never; a long run also prints it. */
  count(table: string): Promise<{ repeated: number; lost: number }>
  /** How often one of so many partitions, by id, was read on from before what was written last. */
  stepsBack(table: string, partitions: number): Promise<number>
  close(): Promise<void>
}

/** Starts PostgreSQL and Redis, and writes the file `rows.ndjson`. */
export async function startPlace(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pipelines-'))
  const path = (name: string): string => join(folder, name)
  const [postgres, redis] = await Promise.all([startPostgres(), startRedis()])
  const pool = new Pool({ connectionString: postgres.url })
  // The pool lets go of its clients before they have hung up.
  pool.on('error', () => {})
  pool.on('connect', (each) => void each.on('error', () => {}))
  const running = new Set<WorkerProcess>()
  const values = Array.from({ length: records }, (_, id) => ({ id, tenant: `t${id % 20}` }))
  writeFileSync(path('rows.ndjson'), values.map((value) => `${JSON.stringify(value)}\n`).join(''))
  // Slow enough that a worker is killed in the middle of something.
  const slow = 'export default { batch: async (rows) => { await new Promise((r) => setTimeout(r, 10)); return rows } }'
  writeFileSync(path('slow.mjs'), slow)
  const rowsOf: Place['rowsOf'] = async (table) => {
    const text = `SELECT count(*)::int AS total, count(DISTINCT id)::int AS distinct FROM ${table}`
    return (await pool.query(text)).rows[0]
  }
  return {
    redis,
    async prepare(name, document, env = {}) {
      await pool.query(`CREATE TABLE ${name} (id int, tenant text, place serial)`)
      const whole = { name, steps: [{ use: './slow.mjs' }], lease: '1500ms', ...document }
      writeFileSync(path(`${name}.json`), JSON.stringify(whole))
      return () => {
        const args = [path(`${name}.json`), '--redis', redis.url]
        const worker = startWorker(args, { DATABASE_URL: postgres.url, ...env })
        running.add(worker)
        return worker
      }
    },
    rowsOf,
    async count(table) {
      const { total, distinct } = await rowsOf(table)
      const [repeated, lost] = [total - distinct, records - distinct]
      if (process.env.SLUICE_PIPELINE_KILLS)
        console.log(`${table}: ${records} records, ${repeated} repeated, ${lost} lost`)
      return { repeated, lost }
    },
    async stepsBack(table, partitions) {
      const before = `lag(id) OVER (PARTITION BY id % ${partitions} ORDER BY place) AS before`
      const text = `SELECT count(*)::int FROM (SELECT id, ${before} FROM ${table}) AS rows WHERE id <= before`
      return (await pool.query(text)).rows[0].count
    },
    async close() {
      for (const { child } of running) child.kill('SIGKILL')
      await pool.end()
      await Promise.all([postgres.stop(), redis.stop()])
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Ends workers by SIGTERM; all must end well. */
export async function end(workers: readonly WorkerProcess[]): Promise<void> {
  for (const { child, out } of workers) {
    // One that is still starting would simply be gone.
    await waitFor(() => out().includes('working on'), { timeoutMs: 60_000 })
    child.kill('SIGTERM')
  }
  const codes = await Promise.all(workers.map(({ ended }) => ended))
  expect(codes, workers.map(({ out }) => out()).join('\n')).toEqual(workers.map(() => 0))
}
