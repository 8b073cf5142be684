import type { ReportDestination, ReportReader } from './destination.ts'
import { reportTtlMs } from './destination.ts'
import { type ReceivedReport, readReport } from './read-report.ts'

/** Most reports that are kept: more processes than one daemon without Redis should serve. */
const maxReports = 1000

/** Keeps reports in process, for a daemon without Redis: its own, and those that are posted to it. */
export function memoryReports(nowMs: () => number = () => performance.now()): ReportDestination & ReportReader {
  const kept = new Map<string, { readonly atMs: number; readonly report: ReceivedReport['report'] }>()
  const idOf = (service: string, replica: string): string => JSON.stringify([service, replica])
  const prune = (): void => {
    for (const [id, { atMs }] of kept) if (nowMs() - atMs > reportTtlMs) kept.delete(id)
  }
  return {
    description: 'memory',
    async send(service, replica, text) {
      const report = readReport(text)
      if (report === undefined) throw new Error('not a report')
      prune()
      const id = idOf(service, replica)
      // Deleting first keeps the order of insertion the order of age.
      kept.delete(id)
      if (kept.size >= maxReports) throw new Error(`more than ${maxReports} processes report`)
      kept.set(id, { atMs: nowMs(), report })
    },
    async remove(service, replica) {
      kept.delete(idOf(service, replica))
    },
    async read(service) {
      prune()
      return [...kept.values()]
        .filter(({ report }) => report.service === service)
        .map(({ report, atMs }) => ({ report, ageMs: Math.round(nowMs() - atMs) }))
    },
    async close() {},
  }
}
