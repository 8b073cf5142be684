import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { createPipeline, redisStreamSource } from 'sluice/pipeline'
import { openRedis } from 'sluice/redis'
import { startRedis } from 'sluice/testing'
import { countSpread } from '../report/format.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'
import { compared } from './compared.ts'

const batchSize = 100

/** Entries of a stream with a group, against a bare loop of reads and acknowledgements and against jobs of BullMQ. */
export async function benchStreams(rounds: number, entries: number): Promise<CaseResult[]> {
  progress(`pipeline: ${entries} entries of a stream, ${rounds} rounds`)
  const server = await startRedis()
  const client = new Redis(server.url, { maxRetriesPerRequest: null })
  const handle = openRedis(client, { reports: false })
  const fill = async (stream: string): Promise<void> => {
    for (let from = 0; from < entries; from += 1000) {
      const pipeline = client.pipeline()
      for (let id = from; id < from + 1000; id++) pipeline.xadd(stream, '*', 'value', `{"id":${id}}`)
      await pipeline.exec()
    }
    await client.xgroup('CREATE', stream, 'g', '0')
  }
  const jobs = (concurrency: number) => async (name: string) => {
    const connection = { host: client.options.host!, port: client.options.port!, maxRetriesPerRequest: null }
    const queue = new Queue(name, { connection })
    const some = Math.floor(entries / 5)
    for (let from = 0; from < some; from += 1000)
      await queue.addBulk(Array.from({ length: 1000 }, (_, i) => ({ name: 'row', data: { id: from + i } })))
    let done = 0
    const startedAt = performance.now()
    let finish: () => void = () => undefined
    const finished = new Promise<void>((resolve) => {
      finish = resolve
    })
    const work = async (): Promise<void> => {
      done += 1
      if (done === some) finish()
    }
    const worker = new Worker(name, work, { connection, concurrency, removeOnComplete: { count: 0 } })
    await finished
    const perSecond = some / ((performance.now() - startedAt) / 1000)
    await worker.close()
    await queue.close()
    return perSecond
  }
  const contenders: Record<string, (name: string) => Promise<number>> = {
    async sluice(name) {
      await fill(name)
      let done = 0
      const startedAt = performance.now()
      const source = redisStreamSource(handle, { stream: name, group: 'g' })
      const pipeline = await createPipeline({
        name,
        source,
        sink: async ({ records }) => {
          done += records.length
          if (done === entries) void pipeline.close()
        },
        execution: { mode: 'streaming', batchSize, parallelism: 1 },
      })
      await pipeline.run()
      const perSecond = entries / ((performance.now() - startedAt) / 1000)
      await pipeline.close()
      return perSecond
    },
    async 'bare loop'(name) {
      await fill(name)
      const startedAt = performance.now()
      for (let done = 0; done < entries; ) {
        const reply = await client.xreadgroup('GROUP', 'g', 'c', 'COUNT', batchSize, 'STREAMS', name, '>')
        const [, found] = (reply as [string, [string, string[]][]][])[0]!
        for (const [, [, text]] of found) JSON.parse(text!)
        await client.xack(name, 'g', ...found.map(([id]) => id))
        done += found.length
      }
      return entries / ((performance.now() - startedAt) / 1000)
    },
    'BullMQ, 64': jobs(64),
    'BullMQ, 512': jobs(512),
  }
  const rates: Record<string, number[]> = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]))
  try {
    for (let round = 0; round < rounds; round++)
      for (const [name, run] of Object.entries(contenders)) rates[name]!.push(await run(`s${round}${name.at(-1)}`))
  } finally {
    await handle.close()
    client.disconnect()
    await server.stop()
  }
  const { spreads, target } = compared(rates)
  const best = spreads['BullMQ, 64']!.median > spreads['BullMQ, 512']!.median ? 'BullMQ, 64' : 'BullMQ, 512'
  return [
    {
      section: 'pipeline',
      title: 'Redis Streams, batches of 100',
      table: [['what', 'entries/s'], ...Object.entries(spreads).map(([name, each]) => [name, countSpread(each)])],
      figures: rates,
      targets: [target(best, 5), target('bare loop', 0.8)],
    },
  ]
}
