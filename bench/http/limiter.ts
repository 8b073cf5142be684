import { Redis } from 'ioredis'
import { createLimiter, type Limiter } from 'sluice'
import { openRedis } from 'sluice/redis'
import { plenty, type ServerSpec } from './spec.ts'

/** A limiter with four limits per address, as the cases need it. */
export function limiterFor({ situation, redisUrl }: ServerSpec): Promise<Limiter> {
  const rpd = situation.startsWith('denied') ? 1 : plenty
  const limits = { rps: plenty, rpm: plenty, rph: plenty, rpd }
  const policy = { service: 'bench', rules: [{ name: 'per-address', key: 'ip', limits }] }
  return situation === 'allowed on Redis'
    ? createLimiter({ policy, redis: openRedis(new Redis(redisUrl)) })
    : createLimiter({ policy })
}
