import assert from 'node:assert/strict'
import { checkOptionNames } from '../core/check-options.ts'
import type { ResolvedExecution } from '../pipeline/execution.ts'
import type { PipelineRecord, PipelineSource } from '../pipeline/pipeline.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { TestFramework } from './test-framework.ts'
import { waitFor } from './wait-for.ts'

/** Where records of a source come from, for the suite to write to. */
export interface PipelineSourcePlace {
  /** A source over a place of this name, as another process would open it. */
  open(name: string): PipelineSource
  /** Adds records with the fields `id`, a number, and `tenant`, a text. */
  add(name: string, values: readonly ConformanceRecord[]): Promise<void>
  /** Adds something that is no record, such as a line that is no JSON; left out where that cannot be. */
  addNonsense?(name: string): Promise<void>
  close(): Promise<void>
}

export interface ConformanceRecord {
  readonly id: number
  readonly tenant: string
}

export interface PipelineSourceConformanceOptions {
  readonly name: string
  readonly mode: 'batch' | 'streaming'
  /** Strategies that the source can follow. */
  readonly strategies?: readonly ('hash' | 'range' | 'round_robin')[]
  start(): Promise<PipelineSourcePlace>
}

const batchSize = 7
const values = (count: number): ConformanceRecord[] =>
  Array.from({ length: count }, (_, id) => ({ id, tenant: `tenant-${id % 5}` }))
const idOf = ({ value }: PipelineRecord): number => Number((value as { id: unknown }).id)

/** What every source of a pipeline must do, for your own ones too. */
export function pipelineSourceConformance(framework: TestFramework, options: PipelineSourceConformanceOptions): void {
  checkOptionNames('pipelineSourceConformance', options, ['name', 'mode', 'strategies', 'start'])
  const { mode, strategies = [] } = options
  const { describe, it, beforeAll, afterAll } = framework
  const execution: ResolvedExecution = {
    ...{ mode, batchSize, parallelism: 1, partitioning: undefined, checkpointIntervalMs: 1000 },
  }
  describe(`${options.name} as a source of pipelines`, () => {
    let place: PipelineSourcePlace
    let names = 0
    const opened: PipelineSource[] = []
    const open = (name: string): PipelineSource => {
      const source = place.open(name)
      opened.push(source)
      return source
    }

    /** Reads so many records of a partition; of a source that ends, all there are. */
    async function read(
      source: PipelineSource,
      partition: string,
      {
        from,
        how = execution,
        most = Number.POSITIVE_INFINITY,
      }: { from?: string; how?: ResolvedExecution; most?: number } = {},
    ): Promise<{ records: PipelineRecord[]; pages: number[] }> {
      const end = new AbortController()
      const records: PipelineRecord[] = []
      const pages: number[] = []
      const reading = {
        partition,
        from,
        execution: how,
        signal: end.signal,
        clock: systemClock(),
        lost: () => undefined,
      }
      for await (const page of source.read(reading)) {
        pages.push(page.length)
        records.push(...page)
        if (records.length >= most) break
      }
      end.abort()
      return { records, pages }
    }

    const newPlace = async (count: number): Promise<string> => {
      const name = `conformance-${++names}`
      await place.add(name, values(count))
      return name
    }
    /** A stream has no end to read to. */
    const atMost = (records: number): number => (mode === 'streaming' ? records : Number.POSITIVE_INFINITY)
    const listing = { done: new Set<string>(), changed: () => undefined }
    /** A group takes a while before it hands out partitions. */
    const only = async (source: PipelineSource): Promise<string> =>
      waitFor(async () => (await source.partitions(execution, listing))[0], { timeoutMs: 60_000 })

    beforeAll(async () => {
      place = await options.start()
    })
    afterAll(async () => {
      for (const source of opened) await source.close?.()
      await place?.close()
    })

    it('reads every record once, in order, in pages of at most a batch', async () => {
      const source = open(await newPlace(50))
      const { records, pages } = await read(source, await only(source), { most: atMost(50) })
      assert.deepEqual(
        records.map(idOf),
        values(50).map(({ id }) => id),
      )
      assert.ok(pages.every((size) => size <= batchSize))
    })

    it('goes on after any record with the very next one, also in another process', async (context) => {
      const name = await newPlace(30)
      const first = open(name)
      if (first.commit) return context.skip('the source keeps positions itself')
      const partition = await only(first)
      const { records } = await read(first, partition, { most: atMost(30) })
      for (const at of [0, 6, 7, 13, 28]) {
        const rest = await read(open(name), partition, { from: records[at]!.position, most: atMost(29 - at) })
        assert.deepEqual(rest.records.map(idOf), records.slice(at + 1).map(idOf))
      }
    })

    it('hands out again what was not acknowledged, and not what was', async (context) => {
      const source = open(await newPlace(20))
      if (!source.commit) return context.skip('the pipeline keeps the positions')
      const partition = await only(source)
      const { records } = await read(source, partition, { most: 14 })
      await source.commit(records.slice(0, 7), partition)
      const again = await read(source, partition, { most: 13 })
      assert.deepEqual(
        new Set(again.records.map(idOf)),
        new Set(
          values(20)
            .slice(7)
            .map(({ id }) => id),
        ),
      )
    })

    it('rejects what it cannot read, with a reason, and goes on', async (context) => {
      if (!place.addNonsense) return context.skip('everything can be read')
      const name = await newPlace(3)
      await place.addNonsense(name)
      await place.add(name, [{ id: 3, tenant: 'last' }])
      const source = open(name)
      const { records } = await read(source, await only(source), { most: atMost(5) })
      assert.deepEqual(records.filter(({ rejected }) => rejected === undefined).map(idOf), [0, 1, 2, 3])
      assert.equal(records.filter(({ rejected }) => rejected !== undefined).length, 1)
    })

    for (const strategy of strategies)
      it(`splits by ${strategy} into partitions that are disjoint and complete, each in order`, async () => {
        const name = await newPlace(200)
        const how = { ...execution, partitioning: { strategy, key: 'tenant', partitions: 4 } }
        const found: number[] = []
        for (const partition of await open(name).partitions(how, listing)) {
          const ids = (await read(open(name), partition, { how })).records.map(idOf)
          assert.deepEqual(
            ids,
            ids.toSorted((a, b) => a - b),
          )
          found.push(...ids)
        }
        assert.deepEqual(
          found.toSorted((a, b) => a - b),
          values(200).map(({ id }) => id),
        )
      })

    it('reads on when records come later', async (context) => {
      if (mode === 'batch') return context.skip('it has an end')
      const name = await newPlace(1)
      const source = open(name)
      const end = new AbortController()
      const ids: number[] = []
      const reading = (async () => {
        const given = { partition: await only(source), from: undefined, execution, signal: end.signal }
        for await (const page of source.read({ ...given, clock: systemClock(), lost: () => undefined }))
          ids.push(...page.map(idOf))
      })().catch(() => undefined)
      await waitFor(() => ids.length === 1)
      await place.add(name, [{ id: 1, tenant: 'later' }])
      await waitFor(() => ids.length === 2)
      end.abort()
      await reading
      assert.deepEqual(ids, [0, 1])
    })

    it('has another identity when its records are others', async (context) => {
      const name = await newPlace(3)
      const before = await open(name).identity?.()
      if (before === undefined) return context.skip('it has no identity')
      assert.equal(await open(name).identity?.(), before)
      await place.add(name, values(1))
      assert.notEqual(await open(name).identity?.(), before)
    })
  })
}
