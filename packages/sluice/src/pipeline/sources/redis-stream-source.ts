import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { checkOptionNames, checkWhole, durationFrom } from '../../core/check-options.ts'
import type { Duration } from '../../core/duration.ts'
import { invalidOption } from '../../core/errors.ts'
import type { RedisHandle } from '../../redis/handle.ts'
import { useRedis } from '../../redis/use-redis.ts'
import type { PipelineSource } from '../pipeline.ts'
import { groupSource, positionSource } from './redis-group.ts'

export interface RedisStreamSourceOptions {
  readonly stream: string | readonly string[]
  /**
   * The consumer group. It hands each entry to one worker and keeps track of it until it is written. Without a group,
   * each stream is read in order by one worker, from a position of the pipeline.
   */
  readonly group?: string
  /** The name of this worker in the group. Made up when left out. */
  readonly consumer?: string
  /** After how long the entries of a worker that died are taken over; 60 s by default. */
  readonly claimAfter?: Duration
  /** How often an entry is handed out before it goes to the dead letters; 5 by default. */
  readonly maxDeliveries?: number
}

const known = ['stream', 'group', 'consumer', 'claimAfter', 'maxDeliveries']

/**
 * Reads Redis Streams. An entry with the only field `value` is the JSON in it, any other an object of its fields.
 *
 * @example redisStreamSource(redis, { stream: 'prices', group: 'price-api' })
 */
export function redisStreamSource(handle: RedisHandle, options: RedisStreamSourceOptions): PipelineSource {
  checkOptionNames('redisStreamSource', options, known)
  const streams = [options.stream].flat()
  if (streams.length === 0 || streams.some((name) => typeof name !== 'string' || name === ''))
    throw invalidOption('redisStreamSource.stream', options.stream, 'name a stream, or several')
  const { group, consumer = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}` } = options
  const claimAfterMs = durationFrom(100, 'redisStreamSource.claimAfter', options.claimAfter ?? '60s')
  const { maxDeliveries = 5 } = options
  checkWhole('redisStreamSource.maxDeliveries', maxDeliveries, 1, 'deliveries')
  const { redis, release } = useRedis(handle, 'redisStreamSource')
  const source =
    group === undefined
      ? positionSource(redis, streams)
      : groupSource(redis, { streams, group, consumer, claimAfterMs, maxDeliveries })
  return {
    ...source,
    async partitions(execution, listing) {
      if (execution.mode === 'batch')
        throw invalidOption('execution.mode', 'batch', 'a stream has no end; use streaming')
      return source.partitions(execution, listing)
    },
    close: release,
  }
}
