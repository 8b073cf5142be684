import { namespaceOf } from '../redis/namespaces.ts'
import type { Redis } from '../redis/redis.ts'
import { type ReportDestination, reportTtlMs } from './destination.ts'
import type { Ordered } from './part-actions.ts'
import { report } from './scripts.gen.ts'

export interface RedisReportsOptions {
  readonly release?: () => Promise<void>
  /** Receives what operators ordered from a process, each once. */
  readonly onOrdered?: (service: string, ordered: readonly Ordered[]) => void
}

/** The hash of the reports of a service. */
export function reportsKey(service: string, prefix: string): string {
  return `${namespaceOf('report', service, prefix)}replicas`
}

/** Reports to Redis: one hash per service, whose entries expire after ten seconds. */
export function redisReports(
  redis: Redis,
  prefix: string,
  { release = async () => {}, onOrdered }: RedisReportsOptions = {},
): ReportDestination {
  const write = async (service: string, replica: string, text: string, withinMs: number): Promise<void> => {
    const { reply } = await redis.runScript({
      script: report,
      keys: [reportsKey(service, prefix)],
      args: [replica, text, String(reportTtlMs)],
      withinMs,
      lane: 'values',
    })
    const ordered: Ordered[] = []
    for (let left = Number(reply.read()); left > 0; left--)
      ordered.push({ id: String(reply.read()), text: String(reply.read()) })
    if (ordered.length > 0) onOrdered?.(service, ordered)
  }
  return {
    description: 'Redis',
    send: write,
    remove: (service, replica, withinMs) => write(service, replica, '', withinMs),
    close: release,
  }
}
