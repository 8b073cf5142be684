import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { Kafka, logLevel, type Producer } from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../runtime/system-clock.ts'
import { pipelineSourceConformance } from '../../testing/pipeline-source-conformance.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { createPipeline, kafkaSource } from '../index.ts'
import { type KafkaCluster, startKafka } from '../testing/kafka-cluster.ts'
import type { KafkaClient } from './kafka-client.ts'
import { KafkaGroup } from './kafka-group.ts'

const cluster = await startKafka()
const timeout = 180_000
const batchSize = 20
/** Brokers accept no session below 6 s, and the cluster of librdkafka aborts when a member joins twice at a time. */
const sessionTimeout = 6000
const consumer = { sessionTimeout, heartbeatInterval: 300, maxWaitTimeInMs: 100 }

/** What a test does with the topics of a cluster. */
async function openTopics({ brokers, createTopic }: KafkaCluster) {
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING })
  const producer: Producer = kafka.producer()
  await producer.connect()
  const send = async (topic: string, values: readonly unknown[], partitions = 1): Promise<void> => {
    const messages = values.map((value, i) => ({ value: String(value), partition: i % partitions }))
    await producer.send({ topic, messages })
  }
  /** A topic with ids, and how often each was written. */
  function newTopic(partitions: number) {
    const name = `topic-${randomUUID()}`
    createTopic(name, partitions)
    const times = new Map<number, number>()
    let sent = 0
    return {
      ...{ name, times },
      repeats: (): number => [...times.values()].reduce((sum, count) => sum + count - 1, 0),
      isWritten: (): boolean => times.size === sent,
      async send(count: number): Promise<void> {
        const ids = Array.from({ length: count }, () => JSON.stringify({ id: sent++ }))
        await send(name, ids, partitions)
      },
    }
  }
  type Topic = ReturnType<typeof newTopic>
  /** A worker that notes what it writes, and how often it was handed a partition. */
  async function startWorker({ name, times }: Topic) {
    const failures: string[] = []
    const pipeline = await createPipeline<{ id: number }>({
      name,
      source: kafkaSource(kafka, { topic: name, group: name, consumer }),
      sink: async ({ records }) => {
        for (const { value } of records) times.set(value.id, (times.get(value.id) ?? 0) + 1)
      },
      execution: { mode: 'streaming', batchSize, parallelism: 4 },
      lease: '5s',
    })
    let handed = 0
    pipeline.on('claimed', () => {
      handed += 1
    })
    pipeline.on('failed', ({ operation, error }) => {
      failures.push(`${operation}: ${error}`)
      // The reader noticed that the partition was away meanwhile.
      if (operation === 'read') handed += 1
    })
    const running = pipeline.run()
    const close = async (): Promise<void> => {
      await pipeline.close()
      await running
    }
    return { failures, close, handed: () => handed, owned: () => pipeline.stats().partitions.length }
  }
  return { kafka, send, newTopic, startWorker, close: () => producer.disconnect() }
}

const canConnect = (address: string): Promise<boolean> =>
  new Promise((resolve) => {
    const [host, port] = address.split(':')
    const socket = connect({ host: host!, port: Number(port) })
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

if (typeof cluster === 'string') {
  console.warn(`NOT RUN: ${cluster}`)
  it('kafkaSource against a cluster', (context) => context.skip(cluster))
} else {
  const { kafka, send, newTopic, startWorker, close } = await openTopics(cluster)
  afterAll(async () => {
    await close()
    cluster.stop()
  })

  // Each test waits for its own group to be formed, so that they do so at the same time.
  describe.concurrent('kafkaSource', () => {
    it('shares partitions among 1, 3 and 2 workers, and loses nothing', { timeout }, async () => {
      const topic = newTopic(4)
      const balanced = (...workers: { owned(): number }[]) =>
        waitFor(
          () => workers.every(({ owned }) => owned() > 0) && workers.reduce((sum, each) => sum + each.owned(), 0) === 4,
          {
            timeoutMs: 90_000,
            describe: `${workers.length} workers share 4 partitions`,
          },
        )
      await topic.send(500)
      const one = await startWorker(topic)
      await balanced(one)
      const [two, three] = [await startWorker(topic), await startWorker(topic)]
      await topic.send(500)
      await balanced(one, two, three)
      await topic.send(500)
      await two.close()
      await topic.send(500)
      await balanced(one, three)
      await waitFor(topic.isWritten, { timeoutMs: 60_000 })
      await Promise.all([one.close(), three.close()])
      // A slow machine rebalances more often. Each time, a partition repeats at most the batch that its last owner had
      // written and could no longer commit.
      const handed = one.handed() + two.handed() + three.handed()
      expect(topic.repeats()).toBeLessThanOrEqual((handed - 4) * batchSize)
    })

    it('outlives errors of the brokers, also those on which kafkajs stops for good', { timeout }, async (context) => {
      // Errors are for whoever asks next, so that nobody else may.
      const own = await startKafka()
      if (typeof own === 'string' || own.faults === undefined)
        return context.skip('a real broker makes no errors to order')
      const { faults, brokers } = own
      const topics = await openTopics(own)
      const topic = topics.newTopic(4)
      const worker = await topics.startWorker(topic)
      const goesOn = async (after: string): Promise<void> => {
        await topic.send(100)
        await waitFor(topic.isWritten, { timeoutMs: 60_000, describe: `goes on after ${after}` })
      }
      await goesOn('its start')
      faults.fail('commit', 'rebalanceInProgress', 'coordinatorGone', 'unknownMember')
      await goesOn('errors of commits')
      faults.fail('fetch', 'notLeader', 'notLeader')
      await goesOn('errors of fetches')
      faults.slow(1, 300)
      await goesOn('a slow broker')
      faults.slow(1, 0)
      faults.down(2)
      const away = goesOn('a broker that was away')
      await waitFor(() => canConnect(brokers[1]!).then((isUp) => !isUp))
      faults.up(2)
      await away
      expect(worker.failures.filter((each) => each.startsWith('claim'))).toEqual([])
      faults.fail('sync', 'invalidRequest')
      faults.fail('heartbeat', 'rebalanceInProgress')
      const crashed = (): boolean => worker.failures.some((each) => each.startsWith('claim: KafkaJSNonRetriableError'))
      await waitFor(crashed, { timeoutMs: 60_000 })
      await goesOn('a crash of the consumer')
      await worker.close()
      await topics.close()
      own.stop()
    })

    it('replaces a consumer that hangs, and one that gets nothing in spite of a lag', {
      timeout: 2 * timeout,
    }, async () => {
      const { name: topic, send: sendIds } = newTopic(1)
      let [joins, isDeaf, skippedMs] = [0, false, 0]
      /** The first consumer never joins; the second one gets nothing any more once it is deaf. */
      const dying = (config: never) => {
        const real = kafka.consumer(config)
        joins += 1
        const own = joins
        type Run = Parameters<typeof real.run>[0]
        const run = (options: Run): Promise<void> =>
          own === 1
            ? new Promise(() => undefined)
            : real.run({
                ...options,
                eachBatch: async (p) => (own === 2 && isDeaf ? undefined : options!.eachBatch!(p)),
              })
        return { ...real, run }
      }
      const real = systemClock()
      const clock = { ...real, monotonic: () => real.monotonic() + skippedMs }
      const stallMs = 600_000
      const options = { topics: [topic], group: topic, fromBeginning: true, consumer, stallMs, clock }
      const group = new KafkaGroup({ consumer: dying, admin: () => kafka.admin() } as unknown as KafkaClient, options)
      const list = (): readonly string[] => group.partitions(() => undefined)
      const end = new AbortController()
      const taken: string[] = []
      const read = async (name: string): Promise<void> => {
        for await (const page of group.read(name, undefined, 10, end.signal)) {
          taken.push(...page.map(({ offset }) => offset))
          if (page.length > 0) await group.commit(name, String(Number(page.at(-1)!.offset) + 1))
        }
      }
      expect(list()).toEqual([])
      skippedMs += stallMs
      const [name] = await waitFor(() => (list().length > 0 ? list() : undefined), { timeoutMs: 60_000 })
      expect(joins).toBe(2)
      const reading = read(name!)
      await sendIds(5)
      await waitFor(() => taken.length === 5, { timeoutMs: 30_000 })
      isDeaf = true
      await sendIds(5)
      await waitFor(
        async () => {
          skippedMs += stallMs / 100
          await group.lag(name!, '5')
          return list() && joins === 3
        },
        { timeoutMs: 60_000, describe: 'a third consumer' },
      )
      // A consumer that hangs on a busy machine is replaced too, after half a minute.
      const isJoined = (): boolean => {
        skippedMs += stallMs / 1200
        return list().length > 0
      }
      await waitFor(isJoined, { timeoutMs: 120_000, describe: 'a partition of the third consumer' })
      expect(joins).toBeGreaterThanOrEqual(3)
      const again = read(name!)
      await waitFor(() => taken.length === 10, { timeoutMs: 30_000 })
      expect(taken).toEqual(Array.from({ length: 10 }, (_, i) => String(i)))
      end.abort()
      await Promise.allSettled([reading, again])
      await group.close()
    })

    pipelineSourceConformance(
      { describe, it: (name, test) => it(name, { timeout }, test), beforeAll, afterAll },
      {
        name: 'kafkaSource',
        mode: 'streaming',
        async start() {
          const topics = new Map<string, string>()
          const topicOf = (name: string): string => topics.get(name) ?? topics.set(name, newTopic(1).name).get(name)!
          return {
            open: (name) => kafkaSource(kafka, { topic: topicOf(name), group: topicOf(name), consumer }),
            add: (name, values) =>
              send(
                topicOf(name),
                values.map((each) => JSON.stringify(each)),
              ),
            addNonsense: (name) => send(topicOf(name), ['{']),
            close: async () => undefined,
          }
        },
      },
    )
  })
}
