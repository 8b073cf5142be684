import type { Clock } from '../../core/clock.ts'
import { invalidOption } from '../../core/errors.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { Fenced } from '../positions/positions.ts'
import { type KafkaClient, type KafkaConsumer, type KafkaMessage, TopicEnds } from './kafka-client.ts'
import { KafkaPartition } from './kafka-partition.ts'

export interface KafkaGroupOptions {
  readonly topics: readonly string[]
  readonly group: string
  readonly fromBeginning: boolean
  readonly consumer: Readonly<Record<string, unknown>>
  readonly stallMs: number
  readonly clock: Clock
}

interface Joined {
  readonly memberId?: string
  readonly memberAssignment: Readonly<Record<string, readonly number[]>>
}

/** How long a batch is waited for in its handler. Beyond it the partition is paused, as others wait for the handler. */
const holdMs = 250
const atOnce = 64
/** After a pause of all its partitions, a broker is asked again only so late. */
const maxWaitTimeInMs = 250
const leaveMs = 5000

/**
 * A member of a consumer group. The group hands it partitions; messages that were fetched wait here until they are
 * asked for, at most one fetch of each partition. kafkajs stops for good after some errors and the process lives on, so
 * that a consumer which crashed, or shows no progress, is replaced by a new one.
 */
export class KafkaGroup {
  readonly #kafka: KafkaClient
  readonly #options: KafkaGroupOptions
  readonly #ends: TopicEnds
  #consumer: KafkaConsumer | undefined
  /** Ends when the consumer has joined the group, or failed to. */
  #joining: Promise<void> | undefined
  /** Ends when the consumer before has left the group, or had its time for that. */
  #leaving: Promise<void> | undefined
  #assigned = new Map<string, KafkaPartition>()
  /** What each reader reads, also after the group has taken it away. */
  readonly #reading = new Map<string, KafkaPartition>()
  #memberId: string | undefined
  #seenMs = 0
  #changed: () => void = () => undefined
  /** Why there is a new consumer, until it was said. */
  #failure: unknown
  #isClosed = false

  constructor(kafka: KafkaClient, options: KafkaGroupOptions) {
    this.#kafka = kafka
    this.#options = options
    this.#ends = new TopicEnds(kafka)
  }

  /** Those that the group has handed to this worker. Joins the group when it is no member. */
  partitions(changed: () => void): readonly string[] {
    const { clock, stallMs } = this.#options
    this.#changed = changed
    if (this.#consumer && clock.monotonic() - this.#seenMs > stallMs)
      this.#replace(new Error(`the consumer showed no sign of life for ${stallMs} ms`))
    if (this.#consumer === undefined && this.#leaving === undefined && !this.#isClosed) {
      this.#consumer = this.#newConsumer()
      this.#joining = this.#join(this.#consumer)
    }
    const failure = this.#failure
    this.#failure = undefined
    if (failure !== undefined) throw failure
    return [...this.#assigned.keys()]
  }

  async *read(
    name: string,
    from: string | undefined,
    most: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly KafkaMessage[]> {
    const { clock } = this.#options
    // Not assigned any more: there is nothing to read until the run notices.
    const part = this.#assigned.get(name) ?? new KafkaPartition('', 0, clock)
    this.#reading.set(name, part)
    const start = from ?? part.begin
    if (start !== undefined) {
      part.moveTo(start)
      if (this.#assigned.get(name) === part) this.#seek(part)
    }
    for (;;) {
      signal.throwIfAborted()
      const current = this.#assigned.get(name)
      if (current !== undefined && current !== part) throw new Error(`${name} went to another worker and came back`)
      yield await part.take(most, signal)
      if (part.isPaused && part.isEmpty) this.#resume(part)
    }
  }

  /**
   * Of a partition that the group has taken away, nothing is committed: a member may commit any, and would move the
   * partition back to before what its new owner has written.
   */
  async commit(name: string, offset: string): Promise<void> {
    const part = this.#reading.get(name)
    if (part === undefined) return
    if (this.#consumer === undefined || this.#assigned.get(name) !== part)
      throw new Fenced(`the group has taken ${name} away`)
    await this.#consumer.commitOffsets([{ ...part.place, offset }])
    part.begin = offset
  }

  /** Also notices a partition that gets nothing although there is something. */
  async lag(name: string, position: string | undefined): Promise<number | undefined> {
    const { clock, stallMs } = this.#options
    const part = this.#assigned.get(name)
    const reached = position ?? part?.begin
    if (part === undefined || reached === undefined) return undefined
    const end = await this.#ends.of(part.place.topic, part.place.partition, clock.monotonic())
    if (end === undefined) return undefined
    const lag = Math.max(0, Number(end - BigInt(reached)))
    if (lag > 0 && part.waitedMs > stallMs && this.#assigned.get(name) === part)
      this.#replace(new Error(`${name} has a lag of ${lag}, and nothing came for ${Math.round(part.waitedMs)} ms`))
    return lag
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const consumer = this.#consumer
    const leaving = Promise.all([this.#leave(), this.#leaving, this.#ends.close()])
    // The group notices by itself that a member is gone.
    await this.#inTime(leaving).catch(() => {
      consumer?.disconnect().catch(() => undefined)
    })
  }

  #newConsumer(): KafkaConsumer {
    const { group, clock } = this.#options
    // Whatever it dies of, it is replaced here and does not start itself again.
    const retry = { ...(this.#options.consumer.retry as object | undefined), restartOnFailure: async () => false }
    const consumer = this.#kafka.consumer({ maxWaitTimeInMs, ...this.#options.consumer, groupId: group, retry })
    if (typeof consumer.events?.GROUP_JOIN !== 'string')
      throw invalidOption('kafkaSource.kafka', this.#kafka, 'its consumers tell no events; pass a Kafka of kafkajs@2')
    this.#seenMs = clock.monotonic()
    const on = <Payload>(event: keyof KafkaConsumer['events'], listener: (payload: Payload) => void): void => {
      const ifCurrent = ({ payload }: { payload: Payload }): void => {
        if (this.#consumer !== consumer) return
        this.#seenMs = clock.monotonic()
        listener(payload)
      }
      consumer.on(consumer.events[event] as never, ifCurrent as never)
    }
    on('FETCH', () => undefined)
    on('REBALANCING', () => {
      for (const part of this.#assigned.values()) part.hold()
    })
    on('GROUP_JOIN', (joined: Joined) => this.#assign(joined))
    on('CRASH', ({ error }: { error: Error }) => this.#replace(error))
    return consumer
  }

  async #join(consumer: KafkaConsumer): Promise<void> {
    const { topics, fromBeginning } = this.#options
    try {
      await consumer.connect()
      await consumer.subscribe({ topics: [...topics], fromBeginning })
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        partitionsConsumedConcurrently: atOnce,
        eachBatch: async ({ batch: { topic, partition, messages }, resolveOffset, isStale }) => {
          const part = this.#assigned.get(`${topic}/${partition}`)
          // What nobody can take now is fetched again.
          if (part === undefined || !part.isEmpty || isStale() || this.#consumer !== consumer) return
          resolveOffset(messages.at(-1)!.offset)
          if (await part.give(messages, holdMs)) return
          part.isPaused = true
          consumer.pause([{ topic, partitions: [partition] }])
        },
      })
    } catch (error) {
      if (this.#consumer === consumer) this.#replace(error)
    }
  }

  /**
   * kafkajs goes on at the committed offsets after a join: partitions that were kept are moved to where they were. A
   * member with a new id was out of the group meanwhile, and others had its partitions.
   */
  #assign({ memberId, memberAssignment }: Joined): void {
    const { clock } = this.#options
    const before = memberId === this.#memberId ? this.#assigned : new Map<string, KafkaPartition>()
    this.#memberId = memberId
    for (const part of this.#assigned.values()) part.hold()
    this.#assigned = new Map()
    for (const [topic, partitions] of Object.entries(memberAssignment)) {
      for (const partition of partitions) {
        const name = `${topic}/${partition}`
        const kept = before.get(name)
        const part = kept ?? new KafkaPartition(topic, partition, clock)
        this.#assigned.set(name, part)
        if (kept?.next !== undefined) this.#seek(kept)
        if (kept === undefined) this.#consumer?.resume([{ topic, partitions: [partition] }])
        part.release()
      }
    }
    this.#changed()
  }

  #seek(part: KafkaPartition): void {
    this.#consumer?.seek({ ...part.place, offset: part.next! })
    if (part.isPaused && part.isEmpty) this.#resume(part)
  }

  #resume(part: KafkaPartition): void {
    part.isPaused = false
    const { topic, partition } = part.place
    if (this.#assigned.get(`${topic}/${partition}`) === part)
      this.#consumer?.resume([{ topic, partitions: [partition] }])
  }

  /**
   * The next consumer joins when this one has left: kafkajs lets a consumer that is stopped join once more when the
   * group forms anew meanwhile, and then none of them gets a partition.
   */
  #replace(error: unknown): void {
    this.#failure = error
    this.#leaving = this.#inTime(this.#leave())
      .catch(() => undefined)
      .then(() => {
        this.#leaving = undefined
        this.#changed()
      })
  }

  #inTime(leaving: Promise<unknown>): Promise<unknown> {
    const late = (): Error => new Error('the brokers do not answer')
    return withinTime(leaving, { ms: leaveMs, clock: this.#options.clock, late })
  }

  /**
   * A consumer of kafkajs that is disconnected while it joins would be a member for good, with partitions that nobody
   * reads; so it joins first.
   */
  async #leave(): Promise<void> {
    const [consumer, joining] = [this.#consumer, this.#joining]
    this.#consumer = undefined
    for (const part of this.#assigned.values()) part.hold()
    this.#assigned = new Map()
    await joining
    await consumer?.disconnect()
  }
}
