import type { RedisServer } from '../../packages/sluice/src/testing/servers/redis.ts'
import type { Entrant } from './interleave.ts'

/** Adds the CPU time of Redis to every round; Redis does nothing else meanwhile. */
export function withRedisCpu(redis: RedisServer, { label, round }: Entrant): Entrant {
  return {
    label,
    async round() {
      const before = await cpuUs(redis)
      const result = await round()
      return { ...result, redisUs: ((await cpuUs(redis)) - before) / result.decisions }
    },
  }
}

async function cpuUs(redis: RedisServer): Promise<number> {
  const { used_cpu_user, used_cpu_sys } = await redis.info('cpu')
  return (Number(used_cpu_user) + Number(used_cpu_sys)) * 1_000_000
}
