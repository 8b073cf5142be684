import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Kinesis } from '@aws-sdk/client-kinesis'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { Kafka, logLevel } from 'kafkajs'
import kinesalite from 'kinesalite'
import { waitFor } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startKafka } from '../../packages/sluice/src/pipeline/testing/kafka-cluster.ts'
import { end, kills, type Place, records, startPlace, timeout } from './place.ts'
import { killWorkers } from './workers.ts'

const execution = { mode: 'streaming', batchSize: 10, parallelism: 2 }
const value = (id: number): string => JSON.stringify({ id, tenant: 't' })
const topic = `rows-${process.pid}`
const kafka = await startKafka()
let place: Place

beforeAll(async () => {
  place = await startPlace()
  if (typeof kafka === 'string') return
  kafka.createTopic(topic, 4)
  const producer = new Kafka({ brokers: [...kafka.brokers], logLevel: logLevel.NOTHING }).producer()
  await producer.connect()
  const messages = Array.from({ length: records }, (_, id) => ({ value: value(id), partition: id % 4 }))
  await producer.send({ topic, messages })
  await producer.disconnect()
})
afterAll(async () => {
  await place?.close()
  if (typeof kafka !== 'string') kafka.stop()
})

describe.concurrent(`workers on Kafka that are killed ${kills} times`, () => {
  it.for([
    ['once into PostgreSQL, with the offset in the transaction', 'kafka_once', {}],
    ['at least once, and repeat at most what was in hand', 'kafka_group', { positions: false }],
  ] as const)('write every message %s', { timeout }, async ([, name, options], context) => {
    if (typeof kafka === 'string') {
      console.warn(`NOT RUN: ${kafka}`)
      return context.skip(kafka)
    }
    const source = {
      kafka: topic,
      brokers: [...kafka.brokers],
      group: name,
      sessionTimeout: '6s',
    }
    const start = await place.prepare(name, { source, sink: { postgres: name, ...options }, execution })
    const progress = async (): Promise<number> => (await place.rowsOf(name)).distinct
    const workers = await killWorkers(start, { count: 3, kills, progress })
    await waitFor(async () => (await progress()) === records, { timeoutMs: 90_000 })
    await end(workers)
    const { repeated } = await place.count(name)
    // How often partitions change hands depends on the machine too. Each time, one batch may be there already.
    const most = name === 'kafka_once' ? 0 : (await place.stepsBack(name, 4)) * execution.batchSize
    expect(repeated).toBeLessThanOrEqual(most)
  })
})

describe.concurrent(`workers on Kinesis that are killed ${kills} times`, () => {
  it('write every record once into PostgreSQL, with the position in the transaction', { timeout }, async () => {
    const server = kinesalite({ createStreamMs: 1 })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const KINESIS_ENDPOINT = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' }
    const requestHandler = new NodeHttpHandler({})
    const client = new Kinesis({ endpoint: KINESIS_ENDPOINT, region: 'eu-west-1', credentials, requestHandler })
    const StreamName = 'rows'
    await client.createStream({ StreamName, ShardCount: 3 })
    await waitFor(
      async () => (await client.describeStream({ StreamName })).StreamDescription?.StreamStatus === 'ACTIVE',
    )
    for (let from = 0; from < records; from += 500) {
      const ids = Array.from({ length: Math.min(500, records - from) }, (_, i) => from + i)
      const Records = ids.map((id) => ({ Data: Buffer.from(value(id)), PartitionKey: String(id) }))
      await client.putRecords({ StreamName, Records })
    }
    const source = { use: join(import.meta.dirname, 'kinesis-module.mjs') }
    const document = { source, sink: { postgres: 'kinesis' }, execution }
    const start = await place.prepare('kinesis', document, { KINESIS_ENDPOINT })
    const progress = async (): Promise<number> => (await place.rowsOf('kinesis')).distinct
    const workers = await killWorkers(start, { count: 2, kills, progress })
    await waitFor(async () => (await progress()) === records, { timeoutMs: 90_000 })
    await end(workers)
    expect(await place.count('kinesis')).toEqual({ repeated: 0, lost: 0 })
    client.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
})
