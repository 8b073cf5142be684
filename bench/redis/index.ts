import { startRedis } from '../../packages/sluice/src/testing/servers/redis.ts'
import { type Effort, runCase } from '../measure/case.ts'
import { collect } from '../measure/collect.ts'
import type { CaseResult } from '../report/result.ts'
import { redisCases } from './cases.ts'
import { benchCeiling } from './ceiling.ts'
import { redisFootprint } from './footprint.ts'

/** The Redis store against its peers, on a Redis that nobody else uses. */
export async function benchRedis(effort: Effort): Promise<CaseResult[]> {
  const redis = await startRedis()
  const onEmptyRedis = (step: () => Promise<CaseResult[]>) => async (): Promise<CaseResult[]> => {
    await redis.cli('FLUSHALL')
    return step()
  }
  const steps = [
    ...redisCases.map((spec) => () => runCase(spec, redis, effort)),
    () => benchCeiling(redis, effort),
    async () => [await redisFootprint(redis.url)],
  ]
  return collect(steps.map(onEmptyRedis)).finally(() => redis.stop())
}
