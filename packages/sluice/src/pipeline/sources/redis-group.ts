import type { Clock } from '../../core/clock.ts'
import type { Redis } from '../../redis/redis.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { PipelineRecord, PipelineSource, ReadOptions } from '../pipeline.ts'
import { pipelineFailed } from '../pipeline-error.ts'

/** How long to wait before looking again at a stream that has nothing new. */
const quietMs = 50

/** An entry as Redis replies it; an entry that was trimmed has no fields. */
type Entry = readonly [id: string, fields: readonly string[] | null]

function recordOf([id, fields]: Entry): PipelineRecord {
  const [name, text = ''] = fields ?? []
  if (fields?.length === 2 && name === 'value') {
    try {
      return { value: JSON.parse(text), position: id }
    } catch (error) {
      return { value: text.slice(0, 10_000), position: id, rejected: `it is no JSON: ${(error as Error).message}` }
    }
  }
  const value: Record<string, string> = {}
  for (let i = 0; i < (fields?.length ?? 0); i += 2) value[fields![i]!] = fields![i + 1]!
  return { value, position: id }
}

/** Streams without a group: each is one partition, read in order from a position. */
export function positionSource(redis: Redis, streams: readonly string[]): PipelineSource {
  return {
    partitions: async () => streams,
    async *read({ partition: key, from, execution: { batchSize }, signal, clock }) {
      if (from !== undefined) await refuseOlderStream(redis, key, from)
      for (let after = from ?? '0-0'; ; ) {
        signal.throwIfAborted()
        const words = ['XRANGE', key, `(${after}`, '+', 'COUNT', String(batchSize)]
        const entries = (await redis.command(words, { key })) as Entry[]
        yield entries.map(recordOf)
        after = entries.at(-1)?.[0] ?? after
        if (entries.length === 0) await sleep(quietMs, clock, signal)
      }
    },
  }
}

/** After a failover that lost entries, new ones may have ids that were read already: they would be left out. */
async function refuseOlderStream(redis: Redis, key: string, from: string): Promise<void> {
  const info = (await redis.command(['XINFO', 'STREAM', key], { key })) as unknown[]
  const newest = String(info[info.indexOf('last-generated-id') + 1])
  if (compareIds(newest, from) >= 0) return
  throw pipelineFailed(
    `the stream ${key} ends at ${newest}, before the position ${from}: entries were lost, or it is another`,
  )
}

function compareIds(a: string, b: string): number {
  const [aMs, aNumber] = a.split('-').map(BigInt) as [bigint, bigint]
  const [bMs, bNumber] = b.split('-').map(BigInt) as [bigint, bigint]
  return aMs === bMs ? Number(aNumber - bNumber) : aMs < bMs ? -1 : 1
}

export interface GroupOptions {
  readonly streams: readonly string[]
  readonly group: string
  readonly consumer: string
  readonly claimAfterMs: number
  readonly maxDeliveries: number
}

/** Between stream and consumer in the name of a partition. */
const separator = ' as '

/**
 * Streams with a consumer group: a partition is what one consumer was given. It reads what it has not acknowledged,
 * then what others left behind, then what is new.
 */
export function groupSource(redis: Redis, options: GroupOptions): PipelineSource {
  const readers = new Map<string, GroupReader>()
  const readerOf = (partition: string): GroupReader | undefined => readers.get(partition)
  return {
    async partitions({ parallelism }) {
      const consumers = Array.from({ length: parallelism }, (_, i) => `${options.consumer}-${i}`)
      return options.streams.flatMap((stream) => consumers.map((consumer) => `${stream}${separator}${consumer}`))
    },
    read(given) {
      const [stream = '', consumer = ''] = splitLast(given.partition)
      const reader = new GroupReader(redis, options, stream, consumer)
      readers.set(given.partition, reader)
      return reader.read(given)
    },
    commit: async (records, partition) => readerOf(partition)?.acknowledge(records),
    renew: async (partition) => readerOf(partition)?.renew(),
    // It is that of the whole group: one consumer of this worker tells it.
    lag: async (partition) => (partition.endsWith('-0') ? readerOf(partition)?.lag() : undefined),
  }
}

function splitLast(partition: string): [string, string] {
  const at = partition.lastIndexOf(separator)
  return [partition.slice(0, at), partition.slice(at + separator.length)]
}

class GroupReader {
  readonly #redis: Redis
  readonly #options: GroupOptions
  readonly #key: string
  readonly #consumer: string
  /** The ids of batches that are not acknowledged, by their first, and until when they are certainly ours. */
  readonly #inHand = new Map<string, readonly string[]>()
  #oursUntilMs = 0
  #clock: Clock | undefined

  constructor(redis: Redis, options: GroupOptions, key: string, consumer: string) {
    this.#redis = redis
    this.#options = options
    this.#key = key
    this.#consumer = consumer
  }

  async *read({
    execution: { batchSize },
    signal,
    clock,
    lost,
  }: ReadOptions): AsyncGenerator<readonly PipelineRecord[]> {
    this.#clock = clock
    await this.#create()
    const trimmed = (count: number): void => {
      if (count > 0) lost(count, 'trimmed from the stream before they were written')
    }
    for (let after = '0'; ; ) {
      signal.throwIfAborted()
      const entries = await this.#readGroup(after, batchSize)
      if (entries.length === 0) break
      after = entries.at(-1)![0]
      yield* this.#again(entries, trimmed)
    }
    for (let claimAtMs = 0; ; ) {
      signal.throwIfAborted()
      if (clock.monotonic() >= claimAtMs) {
        yield* this.#takeOver(batchSize, signal, trimmed)
        claimAtMs = clock.monotonic() + this.#options.claimAfterMs / 2
      }
      const entries = await this.#readGroup('>', batchSize)
      this.#hold(entries)
      yield entries.map(recordOf)
      if (entries.length === 0) await sleep(quietMs, clock, signal)
    }
  }

  async acknowledge(records: readonly PipelineRecord[]): Promise<void> {
    const ids = records.map(({ position }) => position)
    await this.#command('XACK', this.#key, this.#options.group, ...ids)
    this.#inHand.delete(ids[0]!)
  }

  /** Says that entries are being worked on; unless it is so late that another may have them already. */
  async renew(): Promise<void> {
    if (this.#inHand.size === 0 || this.#clock === undefined || this.#clock.monotonic() > this.#oursUntilMs) return
    const { group, claimAfterMs } = this.#options
    const startedAt = this.#clock.monotonic()
    const ids = [...this.#inHand.values()].flat()
    await this.#command('XCLAIM', this.#key, group, this.#consumer, '0', ...ids, 'JUSTID')
    this.#oursUntilMs = startedAt + claimAfterMs
  }

  async lag(): Promise<number | undefined> {
    const groups = (await this.#command('XINFO', 'GROUPS', this.#key)) as unknown[][]
    const own = groups.find((fields) => fields[fields.indexOf('name') + 1] === this.#options.group)
    const lag = own?.[own.indexOf('lag') + 1]
    return typeof lag === 'number' ? lag : undefined
  }

  /** From the first entry on, also after Redis has lost the group: some are then read twice, but none is left out. */
  async #create(): Promise<void> {
    try {
      await this.#command('XGROUP', 'CREATE', this.#key, this.#options.group, '0', 'MKSTREAM')
    } catch (error) {
      if (!String(error).includes('BUSYGROUP')) throw error
    }
  }

  async #readGroup(after: string, count: number): Promise<Entry[]> {
    const { group } = this.#options
    const words = ['GROUP', group, this.#consumer, 'COUNT', String(count), 'STREAMS', this.#key, after]
    // A list of streams with their entries, or, from servers that speak RESP3, pairs in one list.
    const reply = (await this.#command('XREADGROUP', ...words)) as unknown[] | null
    const [first] = reply ?? []
    return ((typeof first === 'string' ? reply![1] : (first as unknown[] | undefined)?.[1]) ?? []) as Entry[]
  }

  async *#takeOver(
    count: number,
    signal: AbortSignal,
    trimmed: (count: number) => void,
  ): AsyncGenerator<readonly PipelineRecord[]> {
    const { group, claimAfterMs } = this.#options
    // An empty reply does not mean that there is nothing left: only a cursor of 0-0 does.
    for (let cursor = '0-0'; ; ) {
      signal.throwIfAborted()
      const words = [this.#key, group, this.#consumer, String(claimAfterMs), cursor, 'COUNT', String(count)]
      const [next, entries, deleted = []] = (await this.#command('XAUTOCLAIM', ...words)) as [string, Entry[], string[]]
      trimmed(deleted.length)
      // Before version 7, Redis gives nothing in the place of an entry that was trimmed.
      const left = entries.filter((entry) => entry !== null)
      if (left.length > 0) yield* this.#again(left, trimmed)
      if (next === '0-0') return
      cursor = next
    }
  }

  /** Entries that were handed out before: some are gone, and some were handed out too often. */
  async *#again(
    entries: readonly Entry[],
    trimmed: (count: number) => void,
  ): AsyncGenerator<readonly PipelineRecord[]> {
    const gone = entries.filter(([, fields]) => fields === null).map(([id]) => id)
    if (gone.length > 0) await this.#command('XACK', this.#key, this.#options.group, ...gone)
    trimmed(gone.length)
    const left = entries.filter(([, fields]) => fields !== null)
    if (left.length === 0) return
    this.#hold(left)
    const [first, last] = [left[0]![0], left.at(-1)![0]]
    const range = [first, last, String(entries.length), this.#consumer]
    const pending = (await this.#command('XPENDING', this.#key, this.#options.group, ...range)) as unknown[][]
    const { maxDeliveries } = this.#options
    const tooOften = new Set(pending.filter(([, , , times]) => Number(times) > maxDeliveries).map(([id]) => id))
    yield left.map((entry) => {
      const record = recordOf(entry)
      if (!tooOften.has(record.position) || record.rejected !== undefined) return record
      return { ...record, rejected: `it was handed out more than ${maxDeliveries} times and never written` }
    })
  }

  #hold(entries: readonly Entry[]): void {
    const [first] = entries
    if (first === undefined) return
    this.#inHand.set(
      first[0],
      entries.map(([id]) => id),
    )
    if (this.#inHand.size === 1) this.#oursUntilMs = this.#clock!.monotonic() + this.#options.claimAfterMs
  }

  #command(...words: string[]): Promise<unknown> {
    return this.#redis.command(words, { key: this.#key })
  }
}
