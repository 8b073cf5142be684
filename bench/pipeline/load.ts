import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline as pipe } from 'node:stream/promises'
import { Pool } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { createPipeline, fileSource, postgresSink } from 'sluice/pipeline'
import { startPostgres } from 'sluice/testing'
import { countSpread } from '../report/format.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'
import { compared } from './compared.ts'

interface Row {
  readonly id: number
  readonly sku: string
  readonly price: number
}

/** JSON lines into a table, against one COPY of the same parsed rows and against single inserts. */
export async function benchLoad(rounds: number, rows: number): Promise<CaseResult[]> {
  progress(`pipeline: loading ${rows} rows, ${rounds} rounds`)
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const file = join(folder, 'rows.ndjson')
  const values = Array.from({ length: rows }, (_, id) => ({ id, sku: `sku-${id % 977}`, price: id / 100 }))
  writeFileSync(file, values.map((value) => `${JSON.stringify(value)}\n`).join(''))
  const postgres = await startPostgres()
  const pool = new Pool({ connectionString: postgres.url })
  pool.on('error', () => undefined)
  const parsed = async function* (): AsyncGenerator<Row> {
    for await (const line of createInterface({ input: createReadStream(file) })) yield JSON.parse(line) as Row
  }
  const ours = (batchSize?: number) => async (): Promise<number> => {
    const load = await createPipeline<object>({
      name: `load-${Math.random()}`,
      source: fileSource(file),
      sink: postgresSink(pool, { table: 'rows', positions: 'positions' }),
      ...(batchSize && { execution: { mode: 'batch', batchSize } }),
    })
    const { written } = await load.run()
    await load.close()
    return written
  }
  const contenders: Record<string, () => Promise<number>> = {
    sluice: ours(),
    'sluice, batches of 10,000': ours(10_000),
    async 'one COPY'() {
      const client = await pool.connect()
      const text = async function* (): AsyncGenerator<string> {
        let chunk = ''
        for await (const { id, sku, price } of parsed()) {
          chunk += `${id}\t${sku}\t${price}\n`
          if (chunk.length < 65_536) continue
          yield chunk
          chunk = ''
        }
        yield chunk
      }
      await pipe(Readable.from(text()), client.query(copyFrom('COPY rows (id, sku, price) FROM STDIN')))
      client.release()
      return rows
    },
    async 'single inserts'() {
      let written = 0
      for await (const { id, sku, price } of parsed()) {
        if (written === Math.floor(rows / 40)) break
        await pool.query('INSERT INTO rows (id, sku, price) VALUES ($1, $2, $3)', [id, sku, price])
        written += 1
      }
      return written
    },
  }
  const rates: Record<string, number[]> = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]))
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [name, load] of Object.entries(contenders)) {
        await pool.query('DROP TABLE IF EXISTS rows; CREATE TABLE rows (id int, sku text, price numeric)')
        const startedAt = performance.now()
        const written = await load()
        rates[name]!.push(written / ((performance.now() - startedAt) / 1000))
        const { rows: counted } = await pool.query('SELECT count(*)::int AS there FROM rows')
        if (counted[0].there !== written) throw new Error(`${name}: ${counted[0].there} of ${written} rows are there`)
      }
    }
  } finally {
    await pool.end()
    await postgres.stop()
    rmSync(folder, { recursive: true })
  }
  const { spreads, target } = compared(rates)
  return [
    {
      section: 'pipeline',
      title: 'JSON lines into PostgreSQL',
      table: [['what', 'rows/s'], ...Object.entries(spreads).map(([name, each]) => [name, countSpread(each)])],
      figures: rates,
      targets: [target('one COPY', 0.8), target('single inserts', 5)],
    },
  ]
}
