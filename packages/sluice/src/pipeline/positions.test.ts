import { describe, expect, it } from 'vitest'
import { waitFor } from '../testing/wait-for.ts'
import { createPipeline, memoryPositions, type PipelineSource } from './index.ts'
import { pipelineFailed } from './pipeline-error.ts'
import { collecting, endless, numbers, runToEnd, slowly } from './testing/runs.ts'

describe('the positions of a pipeline', () => {
  it('stops reading, finishes what is in hand, saves and releases, in this order, when it is closed', async () => {
    const positions = memoryPositions()
    const order: string[] = []
    const pipeline = await createPipeline<{ id: number }>({
      name: 'closing',
      run: 'today',
      source: () => endless(order),
      sink: async ({ records }) => {
        order.push(`wrote ${records.length}`)
      },
      positions: {
        ...positions,
        save: async (claim, position) => {
          order.push(`saved ${position.next}`)
          return positions.save(claim, position)
        },
        release: async (claim) => {
          order.push('released')
          return positions.release(claim)
        },
      },
      execution: { mode: 'streaming', batchSize: 5, checkpointIntervalMs: 86_400_000 },
    })
    const running = pipeline.run()
    await waitFor(() => order.filter((each) => each.startsWith('wrote')).length >= 2)
    await pipeline.close()
    expect(await running).toMatchObject({ outcome: 'stopped' })
    const { written } = await running
    expect(order.slice(order.lastIndexOf('wrote 5'))).toEqual(['wrote 5', `saved ${written}`, 'released'])
    expect((await positions.list('closing@today'))[0]).toMatchObject({ next: String(written), owner: undefined })
  })

  it('is not done when it is closed before it could learn what there is to do', async () => {
    const away = { ...memoryPositions(), list: () => Promise.reject(new Error('the database is away')) }
    const pipeline = await createPipeline({
      name: 'away',
      run: '1',
      source: [{ id: 1 }],
      sink: async () => undefined,
      positions: away,
    })
    const failed = new Promise((resolve) => pipeline.on('failed', resolve))
    const running = pipeline.run()
    await failed
    await pipeline.close()
    expect(await running).toMatchObject({ outcome: 'stopped', read: 0 })
  })

  it('does not wait for a sink that hangs for longer than it is told to when it is closed', async () => {
    const positions = memoryPositions()
    const pipeline = await createPipeline({
      name: 'hanging',
      run: '1',
      source: [1],
      sink: () => new Promise(() => undefined),
      positions,
    })
    const running = pipeline.run()
    await waitFor(() => pipeline.stats().partitions[0]?.doing === 'writing')
    await pipeline.close({ within: 20 })
    expect(await running).toMatchObject({ outcome: 'stopped', written: 0 })
    expect((await positions.list('hanging@1'))[0]).toMatchObject({ next: undefined, owner: expect.anything() })
  })

  it('is done when a stream has ended, and goes on in another run', async () => {
    const positions = memoryPositions()
    const sink = collecting()
    const stream = (count: number) =>
      runToEnd<{ id: number }>({
        name: 'ended',
        source: () => slowly(numbers(count)),
        sink: sink.write,
        positions,
        execution: { mode: 'streaming', batchSize: 10 },
      })
    expect((await stream(15)).report).toMatchObject({ outcome: 'done', written: 15 })
    expect((await stream(20)).report).toMatchObject({ outcome: 'done', written: 5 })
    expect(sink.values().map(({ id }) => id)).toEqual(numbers(20).map(({ id }) => id))
  })

  it('goes on where another run stopped, and repeats nothing that was saved', async () => {
    const positions = memoryPositions()
    const sink = collecting()
    const shared = { name: 'resumed', run: '1', source: () => endless([]), positions }
    const first = await createPipeline<{ id: number }>({
      ...shared,
      sink: async (batch) => {
        await sink.write(batch)
        if (sink.batches.length === 3) void first.close()
      },
      execution: { mode: 'batch', batchSize: 7 },
    })
    await first.run()
    await first.close()
    const second = await createPipeline<{ id: number }>({
      ...shared,
      sink: async (batch) => {
        await sink.write(batch)
        if (sink.batches.length === 6) void second.close()
      },
      execution: { mode: 'batch', batchSize: 7 },
    })
    await second.run()
    await second.close()
    const ids = sink.values().map(({ id }) => id)
    expect(ids).toEqual(ids.map((_, i) => i))
  })

  it('saves the positions of a stream at intervals', async () => {
    const positions = memoryPositions()
    let saves = 0
    const sink = collecting()
    const pipeline = await createPipeline<{ id: number }>({
      name: 'intervals',
      source: () => endless([]),
      sink: sink.write,
      positions: {
        ...positions,
        save: async (claim, position) => {
          saves += 1
          return positions.save(claim, position)
        },
      },
      execution: { mode: 'streaming', batchSize: 1, checkpointIntervalMs: 50 },
    })
    const running = pipeline.run()
    await waitFor(() => saves >= 3)
    await pipeline.close()
    await running
    expect(saves).toBeLessThan(sink.batches.length)
  })

  it('shares the partitions of a load between workers, and each is done by one', async () => {
    const positions = memoryPositions()
    const sink = collecting()
    const worker = () =>
      runToEnd<{ id: number }>({
        name: 'shared',
        run: '1',
        source: () => slowly(numbers(300)),
        sink: sink.write,
        positions,
        lease: '300ms',
        execution: {
          mode: 'batch',
          batchSize: 10,
          parallelism: 1,
          partitioning: { strategy: 'round_robin', partitions: 6 },
        },
      })
    const both = await Promise.all([worker(), worker()])
    expect(both.map(({ report }) => report.outcome)).toEqual(['done', 'done'])
    expect(Math.min(...both.map(({ report }) => report.written))).toBeGreaterThan(0)
    expect(
      sink
        .values()
        .map(({ id }) => id)
        .sort((a, b) => a - b),
    ).toEqual(numbers(300).map(({ id }) => id))
  })

  it('takes a partition over when its worker no longer renews the claim; what that one saves later is refused', async () => {
    const positions = memoryPositions()
    const dead = await positions.claim('over@1', 'all', 'dead', 200)
    await positions.save(dead!, { next: '4', done: false, source: undefined })
    const sink = collecting()
    await runToEnd<{ id: number }>({ name: 'over', run: '1', source: numbers(10), sink: sink.write, positions })
    expect(sink.values().map(({ id }) => id)).toEqual([4, 5, 6, 7, 8, 9])
    expect(await positions.save(dead!, { next: '5', done: false, source: undefined })).toBe(false)
  })

  it('stops working on a partition that another has taken over', async () => {
    const positions = memoryPositions()
    const released: string[] = []
    const pipeline = await createPipeline<{ id: number }>({
      name: 'lost',
      run: '1',
      source: () => endless([]),
      sink: async () => undefined,
      positions: { ...positions, extend: async () => false },
      lease: '150ms',
      execution: { mode: 'batch', batchSize: 1 },
    })
    pipeline.on('released', ({ why }) => released.push(why))
    const running = pipeline.run()
    await waitFor(() => released.includes('lost'))
    await pipeline.close()
    await running
  })

  it('refuses to go on over a source that has changed, and begins anew once the last load was done', async () => {
    const positions = memoryPositions()
    const source = (identity: string): PipelineSource => ({
      partitions: async () => ['all'],
      identity: async () => identity,
      async *read({ from = '0' }) {
        if (from === '0') yield [{ value: identity, position: '1' }]
      },
    })
    const sink = collecting<string>()
    const options = { name: 'nightly', positions, sink: sink.write }
    await runToEnd({ ...options, source: source('monday') })
    await runToEnd({ ...options, source: source('monday') })
    await runToEnd({ ...options, source: source('tuesday') })
    expect(sink.values()).toEqual(['monday', 'tuesday'])
    const claim = await positions.claim('nightly', 'all', 'x', 1000)
    await positions.save(claim!, { next: '1', done: false, source: 'tuesday' })
    await positions.release(claim!)
    await expect(runToEnd({ ...options, source: source('wednesday') })).rejects.toThrow(
      'the source of nightly has changed',
    )
  })

  it('refuses another source while a part of the last one is unread, though what was read is at its end', async () => {
    const positions = memoryPositions()
    const sink = collecting<string>()
    const source = (identity: string, isBroken = false): PipelineSource => ({
      partitions: async () => ['a', 'b'],
      identity: async () => identity,
      async *read({ partition, from }) {
        if (partition === 'b' && isBroken) throw pipelineFailed('the disk is broken')
        if (from === undefined) yield [{ value: `${identity} ${partition}`, position: '1' }]
      },
    })
    const options = { name: 'half', positions, sink: sink.write, random: () => 0 }
    await expect(runToEnd({ ...options, source: source('monday', true) })).rejects.toThrow('broken')
    expect(sink.values()).toEqual(['monday a'])
    await expect(runToEnd({ ...options, source: source('tuesday') })).rejects.toThrow('the source of half has changed')
    await runToEnd({ ...options, source: source('monday') })
    await runToEnd({ ...options, source: source('tuesday') })
    expect(sink.values()).toEqual(['monday a', 'monday b', 'tuesday a', 'tuesday b'])
  })

  it('does not take a partition for done of a source that changed while it was read', async () => {
    const positions = memoryPositions()
    let identity = 'short'
    const source: PipelineSource = {
      partitions: async () => ['all'],
      identity: async () => identity,
      async *read() {
        yield [{ value: 1, position: '1' }]
        identity = 'longer'
      },
    }
    const run = runToEnd({ name: 'grew', positions, source, sink: async () => undefined })
    await expect(run).rejects.toThrow('the source of grew has changed')
    expect(await positions.list('grew')).toMatchObject([{ done: false, next: '1' }])
  })
})
