/** A message as kafkajs gives it. */
export interface KafkaMessage {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly offset: string
  readonly timestamp: string
  readonly headers?: Readonly<Record<string, unknown>>
}

interface PartitionsOf {
  topic: string
  partitions: number[]
}

interface EachBatch {
  readonly batch: { readonly topic: string; readonly partition: number; readonly messages: KafkaMessage[] }
  resolveOffset(offset: string): void
  /** Whether the partition was moved to another offset after the batch was fetched. */
  isStale(): boolean
}

/** As much of a consumer of kafkajs as a pipeline needs. */
export interface KafkaConsumer {
  readonly events: Readonly<Record<'GROUP_JOIN' | 'REBALANCING' | 'CRASH' | 'FETCH', string>>
  // The listeners of kafkajs depend on the name of the event.
  on(event: never, listener: never): unknown
  connect(): Promise<void>
  subscribe(options: { topics: string[]; fromBeginning: boolean }): Promise<void>
  run(options: {
    autoCommit: boolean
    eachBatchAutoResolve: boolean
    partitionsConsumedConcurrently: number
    eachBatch(payload: EachBatch): Promise<void>
  }): Promise<void>
  commitOffsets(offsets: { topic: string; partition: number; offset: string }[]): Promise<void>
  seek(offset: { topic: string; partition: number; offset: string }): void
  pause(topics: PartitionsOf[]): void
  resume(topics: PartitionsOf[]): void
  disconnect(): Promise<void>
}

interface KafkaAdmin {
  connect(): Promise<void>
  fetchTopicOffsets(topic: string): Promise<readonly { readonly partition: number; readonly high: string }[]>
  disconnect(): Promise<void>
}

/** As much of a `Kafka` of kafkajs as a pipeline needs. */
export interface KafkaClient {
  consumer(config: {
    groupId: string
    maxWaitTimeInMs: number
    retry: { restartOnFailure(): Promise<boolean> }
  }): KafkaConsumer
  admin(): KafkaAdmin
}

/** Offsets of the ends of the partitions of topics, which are asked for at most every few seconds. */
export class TopicEnds {
  readonly #kafka: KafkaClient
  #admin: Promise<KafkaAdmin> | undefined
  readonly #known = new Map<string, { readonly atMs: number; readonly ends: Promise<ReadonlyMap<number, bigint>> }>()

  constructor(kafka: KafkaClient) {
    this.#kafka = kafka
  }

  async of(topic: string, partition: number, nowMs: number): Promise<bigint | undefined> {
    const known = this.#known.get(topic)
    const isFresh = known !== undefined && nowMs - known.atMs < 3000
    const ends = isFresh ? known.ends : this.#ask(topic)
    if (!isFresh) this.#known.set(topic, { atMs: nowMs, ends })
    return (await ends).get(partition)
  }

  async close(): Promise<void> {
    const admin = await this.#admin?.catch(() => undefined)
    await admin?.disconnect()
  }

  async #ask(topic: string): Promise<ReadonlyMap<number, bigint>> {
    this.#admin ??= this.#connect()
    const offsets = await (await this.#admin).fetchTopicOffsets(topic)
    return new Map(offsets.map(({ partition, high }) => [partition, BigInt(high)]))
  }

  async #connect(): Promise<KafkaAdmin> {
    const admin = this.#kafka.admin()
    try {
      await admin.connect()
      return admin
    } catch (error) {
      this.#admin = undefined
      throw error
    }
  }
}
