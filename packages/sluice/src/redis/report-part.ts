import type { ReportPart } from '../core/observe/report.ts'
import { addProcessPart } from '../runtime/process-parts.ts'
import { inside, type RedisHandle } from './handle.ts'
import { type InsideRedis } from './use-redis.ts'

/**
 * Lets a part appear in the reports of this process: through its own handle if it has one, else through every handle of
 * the process. The part calls the returned function when it closes.
 */
export function reportPart(redis: RedisHandle | undefined, part: ReportPart): () => Promise<void> {
  if (redis !== undefined) return (redis[inside] as InsideRedis).report(part)
  const remove = addProcessPart(part)
  return async () => remove()
}
