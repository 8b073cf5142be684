import assert from 'node:assert/strict'
import { checkOptionNames } from '../core/check-options.ts'
import type { Batch, PipelineSink, Rejection, WriteContext } from '../pipeline/pipeline.ts'
import { type Claim, Fenced } from '../pipeline/positions/positions.ts'
import type { TestFramework } from './test-framework.ts'

/** Where a sink writes to, for the suite to look at. */
export interface PipelineSinkPlace {
  readonly sink: PipelineSink<{ id: number; name: string }>
  /** The ids of all records there, in the order in which they were written where there is one. */
  ids(): Promise<number[]>
  /** A record that can never be written; undefined where there is none. */
  readonly bad?: { id: number; name: string }
  close(): Promise<void>
}

export interface PipelineSinkConformanceOptions {
  readonly name: string
  /** Starts an empty place, for each test another. */
  start(): Promise<PipelineSinkPlace>
}

/** What every sink of a pipeline must do, for your own ones too. */
export function pipelineSinkConformance(framework: TestFramework, options: PipelineSinkConformanceOptions): void {
  checkOptionNames('pipelineSinkConformance', options, ['name', 'start'])
  const { describe, it, afterAll } = framework
  const record = (id: number) => ({ value: { id, name: `name ${id}` }, position: String(id + 1) })
  const batchOf = (first: number, count: number): Batch<{ id: number; name: string }> => ({
    partition: 'p',
    records: Array.from({ length: count }, (_, i) => record(first + i)),
    from: first === 0 ? undefined : String(first),
    next: String(first + count),
  })
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
  describe(`${options.name} as a sink of pipelines`, () => {
    const places: PipelineSinkPlace[] = []
    async function start(): Promise<
      PipelineSinkPlace & { claim: Claim | undefined; context(claim?: Claim): WriteContext; rejected: Rejection[] }
    > {
      const place = await options.start()
      places.push(place)
      const rejected: Rejection[] = []
      const { positions } = place.sink
      const claim = await positions?.claim('conformance', 'p', 'one', 60_000)
      const context = (of: Claim | undefined = claim): WriteContext => ({
        claim: of,
        attempt: 0,
        signal: new AbortController().signal,
        reject: async (rejections) => void rejected.push(...rejections),
      })
      return { ...place, claim, context, rejected }
    }
    afterAll(async () => {
      for (const { sink, close } of places) {
        await sink.close?.()
        await close()
      }
    })

    it('has written a batch when it resolves, in order', async () => {
      const { sink, ids, context } = await start()
      await sink.write(batchOf(0, 100), context())
      await sink.write(batchOf(100, 1), context())
      assert.deepEqual(await ids(), numbers(101))
    })

    it('rejects a record that can never be written, and writes the others', async (test) => {
      const { sink, ids, bad, context, rejected } = await start()
      if (bad === undefined) return test.skip('it takes every record')
      const { records, ...rest } = batchOf(0, 40)
      const mixed = records.map((each, i) => (i === 17 ? { ...each, value: bad } : each))
      await sink.write({ ...rest, records: mixed }, context())
      assert.deepEqual(
        rejected.map(({ index }) => index),
        [17],
      )
      assert.deepEqual(
        await ids(),
        numbers(40).filter((id) => id !== 17),
      )
    })

    it('saves the position with the data: a batch that is written again has no effect', async (test) => {
      const { sink, ids, context } = await start()
      if (!sink.positions) return test.skip('it keeps no positions')
      await sink.write(batchOf(0, 5), context())
      await sink.write(batchOf(0, 5), context())
      await sink.write(batchOf(5, 5), context())
      assert.deepEqual(await ids(), numbers(10))
      const [state] = await sink.positions.list('conformance')
      assert.equal(state?.next, '10')
    })

    it('moves the position with a batch of which nothing is left', async (test) => {
      const { sink, context } = await start()
      if (!sink.positions) return test.skip('it keeps no positions')
      await sink.write({ ...batchOf(0, 5), records: [] }, context())
      assert.equal((await sink.positions.list('conformance'))[0]?.next, '5')
    })

    it('refuses a worker that has lost the partition, and writes nothing of it', async (test) => {
      const { sink, ids, context, claim } = await start()
      if (!sink.positions || !claim) return test.skip('it keeps no positions')
      await sink.write(batchOf(0, 5), context())
      await sink.positions.release(claim)
      const next = await sink.positions.claim('conformance', 'p', 'two', 60_000)
      assert.equal(next?.next, '5')
      await assert.rejects(async () => sink.write(batchOf(5, 5), context(claim)), Fenced)
      await sink.write(batchOf(5, 2), context(next))
      assert.deepEqual(await ids(), numbers(7))
    })
  })
}
