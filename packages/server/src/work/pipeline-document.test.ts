import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { stepOf } from './document-steps.ts'
import { readPipeline } from './pipeline-document.ts'

const batch = `
name: load-customers
source: { file: customers.csv.gz, format: csv }
steps: [{ mask: [email] }, { hash: { from: customer_id, to: shard } }]
sink: { postgres: customers, url: env:DATABASE_URL, conflict: customer_id, update: all }
executionConfig:
  { "mode": "batch", "batchSize": 1000, "parallelism": 4,
    "partitioning": { "strategy": "hash", "key": "customer_id", "partitions": 8 } }
rate: { rule: customer-writes }
deadLetters: { file: rejected.ndjson }
maxRejected: 1%
`

describe('a pipeline document', () => {
  it('may call its execution executionConfig', () => {
    const { name, execution } = readPipeline(batch)
    expect({ name, execution }).toEqual({
      name: 'load-customers',
      execution: {
        mode: 'batch',
        batchSize: 1000,
        parallelism: 4,
        partitioning: { strategy: 'hash', key: 'customer_id', partitions: 8 },
      },
    })
  })

  it('can be JSON', () => {
    const execution = { mode: 'streaming', batchSize: 100, parallelism: 2, checkpointIntervalMs: 30_000 }
    const document = { name: 'events', source: { 'redis-stream': 'events' }, sink: { postgres: 'events' }, execution }
    expect(readPipeline(JSON.stringify(document))).toEqual(document)
  })

  it('is refused with the path, the value and the remedy of every mistake', () => {
    const wrong = `
nam: x
source: { fil: a.ndjson }
steps: [{ mask: 5 }, { hash: { from: a } }]
sink: { postgres: t, url: "postgres://user:secret@db/app", conflct: id }
execution: { mode: batch, batchSize: none }
rate: { key: tenant }
maxRejected: some
`
    const thrown = (() => {
      try {
        return readPipeline(wrong)
      } catch (error) {
        return error as Error & { issues: readonly { path: string }[] }
      }
    })() as Error & { issues: readonly { path: string }[] }
    expect(thrown.issues.map(({ path }) => path)).toEqual([
      'nam',
      'name',
      'source',
      'sink.conflct',
      'sink.url',
      'steps[0].mask',
      'steps[1].hash',
      'execution.batchSize',
      'rate.rule',
      'maxRejected',
    ])
    expect(thrown.message).toContain('did you mean "conflict"?')
  })

  it('is refused when it cannot be parsed', () => {
    expect(() => readPipeline('name: [')).toThrow('pipeline refused: the document is')
  })
})

describe('the steps of a document', () => {
  it.each([
    [{ mask: ['email', 'phone'] }, { email: 'a***@b.example', phone: '0***', name: 'Ann' }],
    [{ pick: 'name' }, { name: 'Ann' }],
    [{ rename: { name: 'first' } }, { email: 'ann@b.example', phone: '0123', first: 'Ann' }],
  ])('%j', async (step, expected) => {
    const change = (await stepOf(step, '.')) as (row: object) => unknown
    expect(change({ email: 'ann@b.example', phone: '0123', name: 'Ann' })).toEqual(expected)
  })

  it('lookup and threads use modules beside the document', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-steps-'))
    writeFileSync(join(folder, 'tiers.mjs'), "export default async (ids) => ids.map((id) => 'tier-' + id)")
    writeFileSync(join(folder, 'twice.mjs'), 'export default (rows) => rows.map(({ id }) => ({ id: id * 2 }))')
    type BatchStep = { batch(rows: object[], context: object): Promise<unknown[]>; close(): Promise<void> }
    const run = async (step: Record<string, unknown>): Promise<unknown[]> => {
      const made = (await stepOf(step, folder)) as unknown as BatchStep
      const rows = await made.batch([{ id: 1 }, { id: 2 }, { id: 1 }], { signal: new AbortController().signal })
      await made.close()
      return rows
    }
    const [one, two] = [
      { id: 1, tier: 'tier-1' },
      { id: 2, tier: 'tier-2' },
    ]
    expect(await run({ lookup: './tiers.mjs', key: 'id', to: 'tier' })).toEqual([one, two, one])
    expect(await run({ use: './twice.mjs', threads: 1 })).toEqual([{ id: 2 }, { id: 4 }, { id: 2 }])
    rmSync(folder, { recursive: true, force: true })
  })

  it('hash: the same value has the same hash', async () => {
    const change = (await stepOf({ hash: { from: 'id', to: 'h' } }, '.')) as (row: object) => { h: string }
    expect(change({ id: 1 }).h).toBe(change({ id: 1 }).h)
    expect(change({ id: 1 }).h).not.toBe(change({ id: 2 }).h)
  })
})
