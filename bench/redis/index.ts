import { startRedis } from '../../packages/sluice/src/testing/servers/redis.ts'
import { type Effort, runCase } from '../measure/case.ts'
import { collect, type Step } from '../measure/collect.ts'
import type { CaseResult } from '../report/result.ts'
import { redisCases } from './cases.ts'
import { benchCeiling } from './ceiling.ts'
import { redisFootprint } from './footprint.ts'

/** The Redis store against its peers, on a Redis without other clients. */
export async function benchRedis(effort: Effort, only: string): Promise<CaseResult[]> {
  const redis = await startRedis()
  const onEmptyRedis = ({ title, run }: Step): Step => ({
    title,
    async run() {
      await redis.cli('FLUSHALL')
      return run()
    },
  })
  const steps: Step[] = [
    ...redisCases.map((spec) => ({ title: spec.title, run: () => runCase(spec, redis, effort) })),
    { title: 'batches of 64', run: () => benchCeiling(redis, effort) },
    { title: 'bytes per subject', run: async () => [await redisFootprint(redis.url)] },
  ]
  return collect(steps.map(onEmptyRedis), only).finally(() => redis.stop())
}
