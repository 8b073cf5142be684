import { describe, expect, it } from 'vitest'
import { waitFor } from '../testing/wait-for.ts'
import { type Batch, createPipeline, type DeadLetter, memoryPositions, type PipelineOptions, reject } from './index.ts'
import { pipelineFailed } from './pipeline-error.ts'
import { collecting, endless, numbers, runToEnd } from './testing/runs.ts'

describe('a pipeline', () => {
  it('moves records through its steps, leaves out and rejects what they say', async () => {
    const sink = collecting()
    const rejected: DeadLetter[] = []
    const { report } = await runToEnd({
      name: 'orders',
      source: numbers(10),
      steps: [
        (row: { id: number }) => (row.id === 3 ? reject('three is no order') : row),
        async (row: { id: number }) => (row.id % 2 === 0 ? undefined : { id: row.id * 10 }),
      ],
      sink: sink.write,
      deadLetters: async ({ records }) => void rejected.push(...records.map(({ value }) => value)),
      execution: { mode: 'batch', batchSize: 4 },
    })
    expect(sink.values()).toEqual([{ id: 10 }, { id: 50 }, { id: 70 }, { id: 90 }])
    expect(rejected).toEqual([
      {
        pipeline: 'orders',
        partition: 'all',
        position: '4',
        reason: 'three is no order',
        value: { id: 3, tenant: 't3' },
      },
    ])
    expect(report).toMatchObject({ outcome: 'done', read: 10, written: 4, dropped: 5, rejected: 1, lost: 0 })
  })

  it('splits by hash into partitions that are disjoint and complete, each in order, and never mixes them', async () => {
    const sink = collecting<{ id: number; tenant: string }>()
    await runToEnd({
      name: 'split',
      source: numbers(500),
      sink: sink.write,
      execution: {
        mode: 'batch',
        batchSize: 20,
        parallelism: 4,
        partitioning: { strategy: 'hash', key: 'tenant', partitions: 8 },
      },
    })
    expect(
      sink
        .values()
        .map(({ id }) => id)
        .sort((a, b) => a - b),
    ).toEqual(numbers(500).map(({ id }) => id))
    const home = new Map<string, string>()
    const last = new Map<string, number>()
    for (const { partition, records } of sink.batches) {
      for (const { value } of records) {
        expect(home.get(value.tenant) ?? partition).toBe(partition)
        expect(last.get(partition) ?? -1).toBeLessThan(value.id)
        home.set(value.tenant, partition)
        last.set(partition, value.id)
      }
    }
  })

  it('tries a batch again as it was when the sink fails, and rejects what the sink rejects once', async () => {
    const tries: Batch<{ id: number }>[] = []
    const rejected: string[] = []
    await runToEnd<{ id: number }>({
      name: 'again',
      source: numbers(3),
      sink: async (batch, { reject: refuse, attempt }) => {
        tries.push(batch)
        await refuse([{ index: 1, reason: 'not this one' }])
        if (attempt < 2) throw new Error('the database is away')
      },
      deadLetters: async ({ records }) => void rejected.push(...records.map(({ position }) => position)),
    })
    expect(tries).toHaveLength(3)
    expect(new Set(tries.map((batch) => JSON.stringify(batch))).size).toBe(1)
    expect(rejected).toEqual(['2'])
  })

  it('rejects a record on which a step throws a TypeError, and tries again after any other error', async () => {
    const sink = collecting()
    const reasons: string[] = []
    let failures = 2
    const { report } = await runToEnd({
      name: 'poison',
      source: [{ id: 1, price: { eur: 2 } }, { id: 2 }, { id: 3, price: { eur: 1 } }],
      steps: [
        (row: { price: { eur: number } }) => ({ ...row, price: row.price.eur }),
        (row: object) => {
          if (failures-- > 0) throw new Error('the lookup is away')
          return row
        },
      ],
      sink: sink.write,
      deadLetters: async ({ records }) => void reasons.push(...records.map(({ value }) => value.reason)),
    })
    expect(sink.values().map(({ id }) => id)).toEqual([1, 3])
    expect(reasons).toEqual([expect.stringContaining('TypeError')])
    expect(report.rejected).toBe(1)
  })

  it('reads nothing that it cannot write: memory is bounded whatever the sink does', async () => {
    let isOpen = false
    const open: { resolve(): void } = { resolve: () => undefined }
    const opened = new Promise<void>((resolve) => {
      open.resolve = resolve
    })
    const sink = collecting()
    const pipeline = await createPipeline({
      name: 'slow',
      source: async function* () {
        for (let id = 0; id < 4000; id++) yield { id, tenant: `t${id % 97}` }
      },
      sink: async (batch: Batch<{ id: number }>) => {
        if (!isOpen) await opened
        await sink.write(batch)
      },
      execution: {
        mode: 'batch',
        batchSize: 10,
        parallelism: 3,
        partitioning: { strategy: 'hash', key: 'tenant', partitions: 5 },
      },
    })
    const running = pipeline.run()
    await waitFor(() => pipeline.stats().partitions.filter(({ doing }) => doing === 'writing').length === 3)
    const bound = (3 + 5) * 10
    expect(pipeline.stats().mostBuffered).toBeLessThanOrEqual(bound)
    isOpen = true
    open.resolve()
    await running
    expect(sink.values()).toHaveLength(4000)
    expect(pipeline.stats().mostBuffered).toBeLessThanOrEqual(bound)
    expect(pipeline.stats().buffered).toBe(0)
    await pipeline.close()
  })

  it.each([
    ['a number', 2, 3],
    ['a share', '1%' as const, 30],
  ])('ends the run when more are rejected than maxRejected, %s, allows', async (_, maxRejected, bad) => {
    const sink = collecting()
    const positions = memoryPositions()
    const letters: unknown[] = []
    const options: PipelineOptions<{ id: number }> = {
      name: 'picky',
      run: '1',
      source: numbers(2000),
      steps: [(row: { id: number }) => (row.id % 50 === 0 && row.id < bad * 50 ? reject('bad') : row)],
      sink: sink.write,
      positions,
      deadLetters: async ({ records }) => void letters.push(...records),
      maxRejected,
      execution: { mode: 'batch', batchSize: 100 },
    }
    await expect(runToEnd(options)).rejects.toMatchObject({
      code: 'SLUICE_PIPELINE_FAILED',
      message: expect.stringContaining(`maxRejected (${maxRejected})`),
    })
    const [state] = await positions.list('picky@1')
    expect(sink.values().length + letters.length).toBe(Number(state!.next))
  })

  it('judges a share by a whole source of few records, not by the few that an earlier run left', async () => {
    const positions = memoryPositions()
    const run = (name: string, from: number) =>
      runToEnd({
        name,
        run: '1',
        source: numbers(300).map(({ id }) => id),
        steps: [(id: number) => (id < from ? id : reject('bad'))],
        sink: async ({ records }) => {
          if (from === 300 && records.some(({ value }) => value === 290)) throw pipelineFailed('the sink is gone')
        },
        ...{ positions, deadLetters: async () => undefined, maxRejected: '1%' as const },
        execution: { mode: 'batch', batchSize: 10 },
      })
    await expect(run('halved', 300)).rejects.toThrow('the sink is gone')
    expect((await run('halved', 299)).report).toMatchObject({ read: 10, rejected: 1 })
    await expect(run('whole', 296)).rejects.toThrow('maxRejected (1%)')
  })

  it('ends the run at the first rejected record where there are no dead letters', async () => {
    const run = runToEnd({ name: 'strict', source: [1], steps: [() => reject('no')], sink: async () => undefined })
    await expect(run).rejects.toThrow('give deadLetters and maxRejected')
  })

  it('writes and saves nothing in a dry run', async () => {
    const positions = memoryPositions()
    const sink = collecting()
    const { report } = await runToEnd({
      name: 'dry',
      source: numbers(10),
      steps: [(row: { id: number }) => (row.id === 2 ? reject('two') : row)],
      sink: sink.write,
      positions,
      maxRejected: 5,
      dryRun: true,
    })
    expect(report).toMatchObject({ read: 10, written: 9, rejected: 1 })
    expect([sink.batches, await positions.list('dry')]).toEqual([[], []])
  })

  it('pauses and resumes', async () => {
    const sink = collecting()
    const pipeline = await createPipeline<{ id: number }>({
      name: 'paused',
      source: () => endless([]),
      sink: sink.write,
      execution: { mode: 'streaming', batchSize: 1 },
    })
    const running = pipeline.run()
    await waitFor(() => sink.batches.length > 0)
    pipeline.pause()
    await waitFor(() => pipeline.stats().partitions.every(({ doing }) => doing === 'reading'))
    const before = sink.batches.length
    expect(pipeline.stats().state).toBe('paused')
    expect((await pipeline.health()).warnings).toEqual(['The pipeline is paused.'])
    expect(sink.batches.length).toBe(before)
    pipeline.resume()
    await waitFor(() => sink.batches.length > before)
    await pipeline.close()
    await running
  })

  it('is not ready while a partition makes no progress, and says why', async () => {
    const pipeline = await createPipeline({
      name: 'stuck',
      source: [1],
      sink: async () => {
        throw new Error('no such table')
      },
      stallAfter: 50,
    })
    pipeline.run().catch(() => undefined)
    await waitFor(async () => (await pipeline.health()).reasons.some((reason) => reason.includes('no such table')))
    await pipeline.close({ within: 10 })
  })
})
