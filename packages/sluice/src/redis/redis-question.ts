import type { Clock } from '../core/clock.ts'
import { HealthQuestion } from '../runtime/part.ts'
import type { Redis } from './redis.ts'

/** Whether Redis answers, for the health of a part. */
export function redisQuestion(redis: Redis, clock: Clock): HealthQuestion<boolean> {
  return new HealthQuestion(async (withinMs) => (await redis.health(withinMs)).reachable, clock)
}
