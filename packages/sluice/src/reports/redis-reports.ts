import { namespaceOf } from '../redis/namespaces.ts'
import type { Redis } from '../redis/redis.ts'
import { type ReportDestination, reportTtlMs } from './destination.ts'
import type { Ordered } from './part-actions.ts'
import { report, services } from './scripts.gen.ts'

export interface RedisReportsOptions {
  readonly release?: () => Promise<void>
  /** Receives what operators ordered from a process, each once. */
  readonly onOrdered?: (service: string, ordered: readonly Ordered[]) => void
}

/** The hash of the reports of a service. */
export function reportsKey(service: string, prefix: string): string {
  return `${namespaceOf('report', service, prefix)}replicas`
}

/** The services that report: one key for all of them, and so in another slot than their reports. */
export function servicesKey(prefix: string): string {
  return `${prefix}#report/services`
}

/** Most services that are listed. */
const mostServices = 1000
/** A service has its turn once per TTL of its reports; it may miss two. */
const listedMs = 3 * reportTtlMs

/** Lists the services that report, after `added` was added to them. */
export async function listServices(redis: Redis, prefix: string, added: string, withinMs: number): Promise<string[]> {
  const { reply } = await redis.runScript({
    script: services,
    keys: [servicesKey(prefix)],
    args: [added, String(listedMs), String(mostServices)],
    withinMs,
    lane: 'values',
  })
  return Array.from({ length: Number(reply.read()) }, () => String(reply.read()))
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
    const isTurn = Number(reply.read()) === 1
    const ordered: Ordered[] = []
    for (let left = Number(reply.read()); left > 0; left--)
      ordered.push({ id: String(reply.read()), text: String(reply.read()) })
    if (ordered.length > 0) onOrdered?.(service, ordered)
    // The report has arrived, whether or not its service can be listed.
    if (isTurn && service.length <= 256) await listServices(redis, prefix, service, withinMs).catch(() => {})
  }
  return {
    description: 'Redis',
    send: write,
    remove: (service, replica, withinMs) => write(service, replica, '', withinMs),
    close: release,
  }
}
