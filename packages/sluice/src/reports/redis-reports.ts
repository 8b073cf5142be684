import { namespaceOf } from '../redis/namespaces.ts'
import type { Redis } from '../redis/redis.ts'
import { type ReportDestination, type ReportReader, reportTtlMs } from './destination.ts'
import { type ReceivedReport, readReport } from './read-report.ts'
import { report, reports } from './scripts.gen.ts'

/** A script's reply must fit Lua's stack, and one look must not move a hundred megabytes. */
const mostRead = 500

/** Reports to Redis, and reads them there: one hash per service, whose entries expire after ten seconds. */
export function redisReports(
  redis: Redis,
  prefix: string,
  release: () => Promise<void> = async () => {},
): ReportDestination & ReportReader {
  const keyOf = (service: string): string => `${namespaceOf('report', service, prefix)}replicas`
  const write = async (service: string, replica: string, text: string, withinMs: number): Promise<void> => {
    await redis.runScript({
      script: report,
      keys: [keyOf(service)],
      args: [replica, text, String(reportTtlMs)],
      withinMs,
      lane: 'values',
    })
  }
  return {
    description: 'Redis',
    send: write,
    remove: (service, replica, withinMs) => write(service, replica, '', withinMs),
    async read(service, withinMs) {
      const { reply } = await redis.runScript({
        script: reports,
        keys: [keyOf(service)],
        args: [String(reportTtlMs), String(mostRead)],
        withinMs,
        lane: 'values',
      })
      reply.read()
      const found: ReceivedReport[] = []
      for (let left = Number(reply.read()); left > 0; left--) {
        const ageMs = Number(reply.read())
        const parsed = readReport(String(reply.read()))
        if (parsed !== undefined) found.push({ report: parsed, ageMs })
      }
      return found
    },
    close: release,
  }
}
