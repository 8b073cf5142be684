import { checkOptionNames } from '../../core/check-options.ts'
import type { Clock } from '../../core/clock.ts'
import { invalidOption } from '../../core/errors.ts'
import { sleep } from '../../runtime/sleep.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import type { PipelineRecord, PipelineSource } from '../pipeline.ts'

export interface KinesisRecord {
  readonly SequenceNumber?: string | undefined
  readonly PartitionKey?: string | undefined
  readonly Data?: Uint8Array | undefined
}

interface Shard {
  readonly ShardId?: string | undefined
  readonly ParentShardId?: string | undefined
  readonly AdjacentParentShardId?: string | undefined
}

/** As much of the `Kinesis` client of `@aws-sdk/client-kinesis` as a pipeline needs. */
export interface KinesisClient {
  listShards(input: {
    StreamName?: string
    NextToken?: string
  }): Promise<{ readonly Shards?: Shard[] | undefined; readonly NextToken?: string | undefined }>
  getShardIterator(input: {
    StreamName: string
    ShardId: string
    ShardIteratorType: 'TRIM_HORIZON' | 'AFTER_SEQUENCE_NUMBER'
    StartingSequenceNumber?: string
  }): Promise<{ readonly ShardIterator?: string | undefined }>
  getRecords(input: { ShardIterator: string; Limit: number }): Promise<{
    readonly Records: readonly KinesisRecord[] | undefined
    readonly NextShardIterator?: string | null | undefined
    readonly MillisBehindLatest?: number | undefined
  }>
}

export interface KinesisSourceOptions {
  readonly stream: string
  /** What a record means; by default the JSON in its data. What it throws sends the record to the dead letters. */
  readonly decode?: (record: KinesisRecord) => unknown
}

/** Shards may be listed and read only so often. */
const listMs = 10_000
const quietMs = 250
const [leastFetched, mostFetched] = [1000, 10_000]

/**
 * Reads a stream of Kinesis; each shard is a partition, which workers share through `positions`. The shards that a
 * split or a merge makes are read after those that they came from.
 *
 * @example kinesisSource(kinesis, { stream: 'prices' })
 */
export function kinesisSource(client: KinesisClient, options: KinesisSourceOptions): PipelineSource {
  checkOptionNames('kinesisSource', options, ['stream', 'decode'])
  if (typeof client?.getRecords !== 'function')
    throw invalidOption('kinesisSource.client', client, 'pass a Kinesis of @aws-sdk/client-kinesis')
  const { stream, decode = jsonOf } = options
  if (typeof stream !== 'string' || stream === '')
    throw invalidOption('kinesisSource.stream', stream, 'name the stream')
  const shards = new Shards(client, stream, systemClock())
  /** Shards of which everything was read, for the time being. */
  const atEnd = new Set<string>()
  const recordOf = (record: KinesisRecord): PipelineRecord => {
    const position = record.SequenceNumber!
    try {
      return { value: decode(record), position }
    } catch (error) {
      const value = Buffer.from(record.Data ?? [])
        .toString()
        .slice(0, 10_000)
      return { value, position, rejected: `it cannot be read: ${(error as Error).message}` }
    }
  }
  return {
    isDynamic: true,
    async partitions({ mode }, { done }) {
      if (mode === 'batch') throw invalidOption('execution.mode', 'batch', 'a stream has no end; use streaming')
      const all = await shards.list(done.size)
      const names = new Set(all.map(({ ShardId }) => ShardId))
      const isPending = (parent: string | undefined): boolean => names.has(parent) && !done.has(parent!)
      return all
        .filter(({ ParentShardId, AdjacentParentShardId }) => ![ParentShardId, AdjacentParentShardId].some(isPending))
        .map(({ ShardId }) => ShardId!)
    },
    async *read({ partition, from, execution: { batchSize }, signal, clock }) {
      const { ShardIterator } = await client.getShardIterator({
        StreamName: stream,
        ShardId: partition,
        ...(from === undefined
          ? { ShardIteratorType: 'TRIM_HORIZON' as const }
          : { ShardIteratorType: 'AFTER_SEQUENCE_NUMBER' as const, StartingSequenceNumber: from }),
      })
      const limit = Math.min(Math.max(batchSize, leastFetched), mostFetched)
      for (let iterator = ShardIterator; iterator; ) {
        signal.throwIfAborted()
        const reply = await client.getRecords({ ShardIterator: iterator, Limit: limit })
        const records = reply.Records ?? []
        atEnd[reply.MillisBehindLatest === 0 ? 'add' : 'delete'](partition)
        for (let at = 0; at < records.length; at += batchSize) yield records.slice(at, at + batchSize).map(recordOf)
        iterator = reply.NextShardIterator ?? undefined
        if (records.length > 0 || iterator === undefined) continue
        yield []
        await sleep(quietMs, clock, signal)
      }
    },
    lag: async (partition) => (atEnd.has(partition) ? 0 : undefined),
  }
}

/** The shards of a stream, which are listed again now and then, and when one has ended. */
class Shards {
  readonly #client: KinesisClient
  readonly #stream: string
  readonly #clock: Clock
  #known: { readonly all: readonly Shard[]; readonly ended: number; readonly atMs: number } | undefined

  constructor(client: KinesisClient, stream: string, clock: Clock) {
    this.#client = client
    this.#stream = stream
    this.#clock = clock
  }

  async list(ended: number): Promise<readonly Shard[]> {
    const atMs = this.#clock.monotonic()
    if (this.#known && this.#known.ended === ended && atMs - this.#known.atMs < listMs) return this.#known.all
    const all: Shard[] = []
    for (let next: string | undefined, isFirst = true; isFirst || next; isFirst = false) {
      const input = next === undefined ? { StreamName: this.#stream } : { NextToken: next }
      const { Shards: shards = [], NextToken } = await this.#client.listShards(input)
      all.push(...shards)
      next = NextToken
    }
    this.#known = { all, ended, atMs }
    return all
  }
}

function jsonOf({ Data }: KinesisRecord): unknown {
  return JSON.parse(Buffer.from(Data ?? []).toString())
}
