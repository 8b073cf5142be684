import type { Redis } from '../../redis/redis.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { PipelineRecord, PipelineSource } from '../pipeline.ts'
import { pipelineFailed } from '../pipeline-error.ts'

/** How long to wait before looking again at a stream that has nothing new. */
export const quietMs = 50

/** An entry as Redis replies it; an entry that was trimmed has no fields. */
export type Entry = readonly [id: string, fields: readonly string[] | null]

export function recordOf([id, fields]: Entry): PipelineRecord {
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
