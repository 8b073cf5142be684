import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { createPipeline, kafkaSource } from '../index.ts'
import type { KafkaClient, KafkaConsumer } from './kafka-client.ts'
import { KafkaGroup } from './kafka-group.ts'

type Run = Parameters<KafkaConsumer['run']>[0]

/** A consumer whose group and messages are up to the test; it writes down what it is asked to do. */
function scriptedKafka() {
  const asked: string[] = []
  const listeners = new Map<string, (event: { payload: unknown }) => void>()
  const group = { isRebalancing: false }
  let handler: Run['eachBatch'] | undefined
  const consumer = {
    events: { GROUP_JOIN: 'join', REBALANCING: 'rebalancing', CRASH: 'crash', FETCH: 'fetch' },
    on: (event: string, listener: never) => void listeners.set(event, listener),
    connect: async () => undefined,
    subscribe: async () => undefined,
    run: async ({ eachBatch }: Run) => {
      handler = eachBatch
    },
    commitOffsets: async ([at]: { offset: string }[]) => {
      asked.push(`commit ${at!.offset}`)
      if (group.isRebalancing) throw new Error('the group is rebalancing')
    },
    seek: ({ offset }: { offset: string }) => asked.push(`seek ${offset}`),
    pause: () => undefined,
    resume: () => undefined,
    disconnect: async () => undefined,
  }
  const admin = { connect: async () => undefined, fetchTopicOffsets: async () => [], disconnect: async () => undefined }
  return {
    kafka: { consumer: () => consumer, admin: () => admin } as unknown as KafkaClient,
    ...{ asked, group },
    isRunning: () => handler !== undefined,
    join: (partitions: number[], memberId = 'member') =>
      listeners.get('join')!({ payload: { memberId, memberAssignment: { t: partitions } } }),
    rebalance: () => listeners.get('rebalancing')!({ payload: {} }),
    give(...offsets: number[]): void {
      const messages = offsets.map((offset) => ({ offset: String(offset), value: Buffer.from(String(offset)) }))
      const batch = { topic: 't', partition: 0, messages: messages as never }
      void handler!({ batch, resolveOffset: () => undefined, isStale: () => false })
    },
  }
}

async function startWorker() {
  const scripted = scriptedKafka()
  const written: unknown[] = []
  const happened: string[] = []
  const pipeline = await createPipeline({
    name: 'scripted',
    source: kafkaSource(scripted.kafka, { topic: 't', group: 'g' }),
    sink: async ({ records }) => void written.push(...records.map(({ value }) => value)),
    execution: { mode: 'streaming', batchSize: 2 },
  })
  pipeline.on('claimed', () => happened.push('claimed'))
  pipeline.on('released', ({ why }) => happened.push(why))
  const running = pipeline.run()
  const until = (isSo: () => boolean): Promise<unknown> => waitFor(isSo, { timeoutMs: 30_000 })
  await until(scripted.isRunning)
  scripted.join([0])
  await until(() => happened.includes('claimed'))
  const end = async (): Promise<void> => {
    await pipeline.close()
    await running
  }
  return { ...scripted, written, happened, until, end }
}

describe('a partition that the group takes away while a batch cannot be committed', () => {
  it('is not moved back by its old owner, who writes nothing more of it', async () => {
    const { group, join, rebalance, give, asked, written, happened, until, end } = await startWorker()
    group.isRebalancing = true
    give(0, 1, 2, 3)
    await until(() => asked.includes('commit 2'))
    rebalance()
    join([])
    group.isRebalancing = false
    asked.length = 0
    await until(() => happened.includes('lost'))
    expect(asked).toEqual([])
    expect(written).toEqual([0, 1])
    await end()
  })

  it.each([
    ['comes back', (join: (partitions: number[]) => void) => [join([]), join([0])]],
    [
      'is given to the same process as a new member',
      (join: (partitions: number[], id?: string) => void) => [join([0], 'new')],
    ],
  ])('is read on from the committed offset when it %s', async (_, rejoin) => {
    const { join, rebalance, give, asked, written, until, end } = await startWorker()
    give(0, 1)
    await until(() => asked.includes('commit 2'))
    asked.length = 0
    rebalance()
    rejoin(join)
    // As far as others have come meanwhile.
    await until(() => {
      give(10, 11)
      return asked.includes('commit 12')
    })
    expect(asked).not.toContain('seek 2')
    expect(written).toEqual([0, 1, 10, 11])
    await end()
  })
})

it('a client whose consumers tell no events is refused, as nobody would know who owns a partition', async () => {
  const { kafka } = scriptedKafka()
  const silent = { ...kafka, consumer: () => ({ connect: async () => undefined }) } as unknown as KafkaClient
  const source = kafkaSource(silent, { topic: 't', group: 'g' })
  const pipeline = await createPipeline({
    name: 'silent',
    source,
    sink: async () => {},
    execution: { mode: 'streaming' },
  })
  await expect(pipeline.run()).rejects.toThrow('its consumers tell no events; pass a Kafka of kafkajs')
  await pipeline.close()
})

it('a consumer that is replaced while it joins leaves the group once it has joined', async () => {
  const clock = virtualClock()
  const left: number[] = []
  const joined: (() => void)[] = []
  const consumer = () => {
    const own = joined.length
    let isJoined = false
    const run = () =>
      new Promise<void>((resolve) => {
        joined[own] = () => {
          isJoined = true
          resolve()
        }
      })
    const disconnect = async (): Promise<void> => void (isJoined && left.push(own))
    return { ...(scriptedKafka().kafka.consumer as () => KafkaConsumer)(), run, disconnect }
  }
  const options = { topics: ['t'], group: 'g', fromBeginning: true, consumer: {}, stallMs: 1000, clock }
  const group = new KafkaGroup({ ...scriptedKafka().kafka, consumer }, options)
  const list = (): readonly string[] => group.partitions(() => undefined)
  list()
  await waitFor(() => joined.length === 1)
  await clock.advance(2000)
  expect(list).toThrow('no sign of life')
  // It has its time to leave, though nobody knows whether it ever joins.
  await clock.advance(5000)
  list()
  await waitFor(() => joined.length === 2)
  expect(left).toEqual([])
  joined[0]!()
  await waitFor(() => left.length === 1)
  joined[1]!()
  await group.close()
  expect(left).toEqual([0, 1])
})

it('a new consumer joins once the one before has left: one that is stopped would join again with it', async () => {
  const clock = virtualClock()
  let made = 0
  const leave: (() => void)[] = []
  const consumer = () => {
    made += 1
    const disconnect = (): Promise<void> => new Promise((resolve) => void leave.push(resolve))
    return { ...(scriptedKafka().kafka.consumer as () => KafkaConsumer)(), disconnect }
  }
  const options = { topics: ['t'], group: 'g', fromBeginning: true, consumer: {}, stallMs: 1000, clock }
  const group = new KafkaGroup({ ...scriptedKafka().kafka, consumer }, options)
  let changes = 0
  const list = (): readonly string[] => group.partitions(() => changes++)
  list()
  await clock.advance(2000)
  expect(list).toThrow('no sign of life')
  list()
  expect(made).toBe(1)
  await waitFor(() => leave.length === 1)
  leave[0]!()
  await waitFor(() => changes === 1)
  list()
  expect(made).toBe(2)
  const closed = group.close()
  await clock.advance(5000)
  await closed
})
