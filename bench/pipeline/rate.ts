import { Redis } from 'ioredis'
import { createLimiter } from 'sluice'
import { createPipeline } from 'sluice/pipeline'
import { openRedis } from 'sluice/redis'
import { startRedis } from 'sluice/testing'
import { count } from '../report/format.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'

const perSecond = 2000
const workers = 3
const policy = { service: 'bench', rules: [{ name: 'writes', limits: { rps: 2000 } }] }

/** One rate over three workers, each with a connection and a limiter of its own. */
export async function benchRate(seconds: number): Promise<CaseResult[]> {
  progress(`pipeline: ${perSecond}/s over ${workers} workers for ${seconds} s`)
  const server = await startRedis()
  const written = new Array<number>(seconds + 2).fill(0)
  let startedAt = 0
  const start = async () => {
    const client = new Redis(server.url)
    const redis = openRedis(client, { reports: false })
    const limiter = await createLimiter({ policy, redis })
    const pipeline = await createPipeline({
      name: 'rate',
      source: async function* () {
        for (let id = 0; ; id++) yield { id }
      },
      sink: async ({ records }) => {
        const second = Math.floor((performance.now() - startedAt) / 1000)
        if (startedAt > 0 && second >= 0 && second < written.length) written[second]! += records.length
      },
      limiter,
      rate: { rule: 'writes' },
      execution: { mode: 'streaming', batchSize: 100 },
    })
    const running = pipeline.run()
    return async () => {
      await pipeline.close({ within: 100 })
      await running
      await limiter.close()
      await redis.close()
      client.disconnect()
    }
  }
  try {
    const started = await Promise.all(Array.from({ length: workers }, start))
    await new Promise((resolve) => setTimeout(resolve, 2000))
    startedAt = performance.now()
    await new Promise((resolve) => setTimeout(resolve, (seconds + 0.5) * 1000))
    await Promise.all(started.map((end) => end()))
  } finally {
    await server.stop()
  }
  const whole = written.slice(0, seconds)
  const off = (value: number, of: number): number => Math.abs(value / of - 1)
  const worst = Math.max(...whole.map((each) => off(each, perSecond)))
  const all = whole.reduce((sum, each) => sum + each, 0)
  const percent = (share: number): string => `${(share * 100).toFixed(1)}%`
  return [
    {
      section: 'pipeline',
      title: `${perSecond}/s over ${workers} workers for ${seconds} s`,
      table: [
        ['what', 'records'],
        ['slowest second', count(Math.min(...whole))],
        ['fastest second', count(Math.max(...whole))],
        ['in all, per second', count(all / seconds)],
      ],
      figures: { whole },
      targets: [
        {
          claim: 'each second within 5%',
          ours: percent(worst),
          peer: '5%',
          figure: percent(worst),
          met: worst <= 0.05,
        },
        {
          claim: 'the whole within 2%',
          ours: percent(off(all, perSecond * seconds)),
          peer: '2%',
          figure: percent(off(all, perSecond * seconds)),
          met: off(all, perSecond * seconds) <= 0.02,
        },
      ],
    },
  ]
}
