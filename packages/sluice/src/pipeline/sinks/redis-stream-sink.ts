import { checkOptionNames, checkWhole } from '../../core/check-options.ts'
import type { RedisHandle } from '../../redis/handle.ts'
import { useRedis } from '../../redis/use-redis.ts'
import type { PipelineSink } from '../pipeline.ts'

export interface RedisStreamSinkOptions {
  readonly stream: string
  /** About how many entries the stream keeps; all of them by default. */
  readonly maxLength?: number
}

/**
 * Adds each record to a stream, as JSON in the field `value`. A batch that is tried again is added again.
 *
 * @example redisStreamSink(redis, { stream: 'prices', maxLength: 1_000_000 })
 */
export function redisStreamSink(handle: RedisHandle, options: RedisStreamSinkOptions): PipelineSink {
  checkOptionNames('redisStreamSink', options, ['stream', 'maxLength'])
  const { stream, maxLength } = options
  if (maxLength !== undefined) checkWhole('redisStreamSink.maxLength', maxLength, 1, 'entries')
  const { redis, release } = useRedis(handle, 'redisStreamSink')
  const trim = maxLength === undefined ? [] : ['MAXLEN', '~', String(maxLength)]
  return {
    async write({ records }) {
      const add = (value: unknown): Promise<unknown> =>
        redis.command(['XADD', stream, ...trim, '*', 'value', JSON.stringify(value) ?? 'null'], { key: stream })
      await Promise.all(records.map(({ value }) => add(value)))
    },
    close: release,
  }
}
