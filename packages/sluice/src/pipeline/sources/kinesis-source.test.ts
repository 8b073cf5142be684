import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Kinesis } from '@aws-sdk/client-kinesis'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import kinesalite from 'kinesalite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pipelineSourceConformance } from '../../testing/pipeline-source-conformance.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { createPipeline, kinesisSource, memoryPositions } from '../index.ts'

let server: ReturnType<typeof kinesalite>
let client: Kinesis
beforeAll(async () => {
  server = kinesalite({ createStreamMs: 1, updateStreamMs: 1, deleteStreamMs: 1 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  client = new Kinesis({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'eu-west-1',
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    // kinesalite does not speak HTTP/2.
    requestHandler: new NodeHttpHandler({}),
  })
})
afterAll(async () => {
  client?.destroy()
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)))
})

const isActive = async (name: string): Promise<boolean> =>
  (await client.describeStream({ StreamName: name })).StreamDescription?.StreamStatus === 'ACTIVE'
async function newStream(name: string): Promise<void> {
  await client.createStream({ StreamName: name, ShardCount: 1 })
  await waitFor(() => isActive(name))
}
const put = async (name: string, values: readonly { tenant: string }[]): Promise<void> => {
  const Records = values.map((each) => ({ Data: Buffer.from(JSON.stringify(each)), PartitionKey: each.tenant }))
  await client.putRecords({ StreamName: name, Records })
}

pipelineSourceConformance(
  { describe, it, beforeAll, afterAll },
  {
    name: 'kinesisSource',
    mode: 'streaming',
    async start() {
      const created = new Set<string>()
      return {
        open: (name) => kinesisSource(client, { stream: name }),
        async add(name, values) {
          if (!created.has(name)) await newStream(name)
          created.add(name)
          await put(name, values)
        },
        addNonsense: async (name) =>
          void (await client.putRecord({ StreamName: name, Data: Buffer.from('{'), PartitionKey: 'x' })),
        close: async () => undefined,
      }
    },
  },
)

describe('kinesisSource', () => {
  it('reads shards that were split and merged in order, with workers that come and go', {
    timeout: 90_000,
  }, async () => {
    const stream = 'resharded'
    await newStream(stream)
    const positions = memoryPositions()
    const seen = new Map<string, number[]>()
    let count = 0
    const start = async () => {
      const pipeline = await createPipeline<{ id: number; tenant: string }>({
        name: stream,
        source: kinesisSource(client, { stream }),
        sink: async ({ records }) => {
          for (const { value } of records) seen.set(value.tenant, [...(seen.get(value.tenant) ?? []), value.id])
        },
        positions,
        execution: { mode: 'streaming', batchSize: 7, checkpointIntervalMs: 1 },
      })
      const running = pipeline.run()
      const close = async (): Promise<void> => {
        await pipeline.close()
        await running
      }
      return { close }
    }
    const add = (): Promise<void> =>
      put(
        stream,
        Array.from({ length: 60 }, () => ({ id: count, tenant: `tenant-${count++ % 9}` })),
      )
    const all = (): Promise<unknown> => waitFor(() => [...seen.values()].flat().length === count, { timeoutMs: 30_000 })
    const open = async (): Promise<string[]> => {
      const { Shards = [] } = await client.listShards({ StreamName: stream })
      return Shards.filter((each) => !each.SequenceNumberRange?.EndingSequenceNumber).map(({ ShardId }) => ShardId!)
    }

    await add()
    const one = await start()
    await all()
    const [whole] = await open()
    const half = String(2n ** 127n)
    await client.splitShard({ StreamName: stream, ShardToSplit: whole!, NewStartingHashKey: half })
    await waitFor(() => isActive(stream))
    await add()
    const two = await start()
    await all()
    await one.close()
    const [left, right] = await open()
    await client.mergeShards({ StreamName: stream, ShardToMerge: left!, AdjacentShardToMerge: right! })
    await waitFor(() => isActive(stream))
    await add()
    await all()
    await two.close()
    for (const ids of seen.values()) expect(ids).toEqual(ids.toSorted((a, b) => a - b))
    const states = await positions.list(stream)
    expect(
      states
        .filter(({ done }) => done)
        .map(({ partition }) => partition)
        .sort(),
    ).toEqual([whole, left, right])
    expect(states.length).toBe(4)
  })
})
