import { checkOptionNames, durationFrom } from '../../core/check-options.ts'
import type { Duration } from '../../core/duration.ts'
import { invalidOption } from '../../core/errors.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import type { PipelineRecord, PipelineSource } from '../pipeline.ts'
import type { KafkaClient, KafkaMessage } from './kafka-client.ts'
import { KafkaGroup } from './kafka-group.ts'

export interface KafkaSourceOptions {
  readonly topic: string | readonly string[]
  /** The consumer group, which hands the partitions to workers. */
  readonly group: string
  /** Where a group begins that has no offset yet; at the beginning by default. */
  readonly fromBeginning?: boolean
  /** What a message means; by default the JSON in its value. What it throws sends the message to the dead letters. */
  readonly decode?: (message: KafkaMessage) => unknown
  /** More options of the consumer, such as `sessionTimeout`. */
  readonly consumer?: Readonly<Record<string, unknown>>
  /** A consumer without a sign of life, or without progress in spite of a lag, for so long is replaced; 90 s. */
  readonly stallAfter?: Duration
}

const known = ['topic', 'group', 'fromBeginning', 'decode', 'consumer', 'stallAfter']

/**
 * Reads topics of Kafka as a member of a consumer group. A consumer that crashed or hangs is replaced by a new one.
 *
 * @example kafkaSource(kafka, { topic: 'prices', group: 'price-api' })
 */
export function kafkaSource(kafka: KafkaClient, options: KafkaSourceOptions): PipelineSource {
  checkOptionNames('kafkaSource', options, known)
  if (typeof kafka?.consumer !== 'function')
    throw invalidOption('kafkaSource.kafka', kafka, 'pass a Kafka of kafkajs: npm install kafkajs@2')
  const topics = [options.topic].flat()
  if (topics.length === 0 || topics.some((name) => typeof name !== 'string' || name === ''))
    throw invalidOption('kafkaSource.topic', options.topic, 'name a topic, or several')
  if (typeof options.group !== 'string' || options.group === '')
    throw invalidOption('kafkaSource.group', options.group, 'name the consumer group')
  const { group, fromBeginning = true, consumer = {}, decode = jsonOf } = options
  const stallMs = durationFrom(1000, 'kafkaSource.stallAfter', options.stallAfter ?? '90s')
  const members = new KafkaGroup(kafka, { topics, group, fromBeginning, consumer, stallMs, clock: systemClock() })
  const recordOf = (message: KafkaMessage): PipelineRecord => {
    const position = String(BigInt(message.offset) + 1n)
    try {
      return { value: decode(message), position }
    } catch (error) {
      const value = message.value?.toString().slice(0, 10_000)
      return { value, position, rejected: `it cannot be read: ${(error as Error).message}` }
    }
  }
  return {
    isDynamic: true,
    seeks: true,
    async partitions({ mode }, { changed }) {
      if (mode === 'batch') throw invalidOption('execution.mode', 'batch', 'a topic has no end; use streaming')
      return members.partitions(changed)
    },
    async *read({ partition, from, execution: { batchSize }, signal }) {
      for await (const messages of members.read(partition, from, batchSize, signal)) yield messages.map(recordOf)
    },
    commit: (records, partition) => members.commit(partition, records.at(-1)!.position),
    lag: (partition, position) => members.lag(partition, position),
    close: () => members.close(),
  }
}

function jsonOf({ value }: KafkaMessage): unknown {
  return value === null ? null : JSON.parse(value.toString())
}
