import { startRedis } from '../../packages/sluice/src/testing/servers/redis.ts'
import { type Effort, runCase } from '../measure/case.ts'
import { collect } from '../measure/collect.ts'
import type { CaseResult } from '../report/result.ts'
import { memoryCases, redisCases } from './cases.ts'
import { benchFootprint } from './footprint.ts'
import { benchHitRate } from './hit-rate.ts'
import { benchMany } from './many.ts'

/** The cache against bentocache, cacheable, lru-cache and a bare GET: one Redis, one value, and no copying, for all. */
export async function benchCache(effort: Effort, only: string): Promise<CaseResult[]> {
  const redis = await startRedis()
  try {
    return await collect(
      [
        ...memoryCases.map((spec) => ({ title: spec.title, run: () => runCase(spec, undefined, effort) })),
        ...redisCases.map((spec) => ({ title: spec.title, run: () => runCase(spec, redis, effort) })),
        { title: 'many', run: () => benchMany(redis, effort.rounds) },
        { title: 'hit rate', run: async () => [benchHitRate()] },
        { title: 'footprint', run: async () => [await benchFootprint()] },
      ],
      only,
    )
  } finally {
    await redis.stop()
  }
}
