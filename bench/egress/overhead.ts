import { startRedis } from '../../packages/sluice/src/testing/servers/redis.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'
import { open } from './sluice.ts'

/** The most that a decision may add to a call, from the original requirements. */
const requiredMs = 50
const everyMs = 5

/** How long a call waits for its grant where units are free: a call every 5 ms, on one Redis. */
export async function measureOverhead(forMs: number): Promise<CaseResult[]> {
  const redis = await startRedis()
  const contender = await open({ redisUrl: redis.url, prefix: 'overhead', limits: [] })
  try {
    progress('egress: decision overhead')
    // A new upstream grants nothing for two seconds.
    await contender.decide('', 0)
    const tookMs: number[] = []
    const calls: Promise<void>[] = []
    const call = async (): Promise<void> => {
      const begunMs = performance.now()
      await contender.decide('', 0)
      tookMs.push(performance.now() - begunMs)
    }
    for (const endMs = performance.now() + forMs; performance.now() < endMs; ) {
      calls.push(call())
      await new Promise((resolve) => setTimeout(resolve, everyMs))
    }
    await Promise.all(calls)
    tookMs.sort((a, b) => a - b)
    const at = (share: number): number => tookMs[Math.floor((tookMs.length - 1) * share)]!
    const [p50, p99, max] = [at(0.5), at(0.99), at(1)].map((ms) => ms.toFixed(1))
    return [
      {
        section: 'egress',
        title: 'decision overhead on one Redis, units free',
        table: [
          ['calls', 'p50 ms', 'p99 ms', 'max ms', 'required p99'],
          [String(tookMs.length), p50!, p99!, max!, `${requiredMs} ms`],
        ],
        figures: { calls: tookMs.length, p50, p99, max },
        targets: [
          {
            claim: `p99 below the original's ${requiredMs} ms`,
            ...{ ours: `${p99} ms`, peer: `${requiredMs} ms`, figure: `${p99} ms`, met: at(0.99) < requiredMs },
          },
        ],
      },
    ]
  } finally {
    await contender.close()
    await redis.stop()
  }
}
