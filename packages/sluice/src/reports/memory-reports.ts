import { systemClock } from '../runtime/system-clock.ts'
import { type ReportDestination, type ReportReader, reportTtlMs } from './destination.ts'
import { readReport } from './read-report.ts'

/**
 * Most reports that are kept, and most characters of them all: more processes than one daemon without Redis should
 * serve.
 */
const maxReports = 1000
const maxLength = 16 * 1024 * 1024

/** Keeps reports in process, for a daemon without Redis: its own, and those that are posted to it. */
export function memoryReports(nowMs: () => number = systemClock().monotonic): ReportDestination & ReportReader {
  const kept = new Map<string, { readonly atMs: number; readonly service: string; readonly text: string }>()
  let length = 0
  const idOf = (service: string, replica: string): string => JSON.stringify([service, replica])
  const remove = (id: string): void => {
    length -= kept.get(id)?.text.length ?? 0
    kept.delete(id)
  }
  const prune = (): void => {
    for (const [id, { atMs }] of kept) if (nowMs() - atMs > reportTtlMs) remove(id)
  }
  return {
    description: 'memory',
    async send(service, replica, text) {
      if (readReport(text) === undefined) throw new Error('it is not a report')
      prune()
      const id = idOf(service, replica)
      remove(id)
      if (kept.size >= maxReports || length + text.length > maxLength) throw new Error('too many processes report')
      kept.set(id, { atMs: nowMs(), service, text })
      length += text.length
    },
    async remove(service, replica) {
      remove(idOf(service, replica))
    },
    async read(service) {
      prune()
      return [...kept.values()]
        .filter((each) => each.service === service)
        .flatMap(({ text, atMs }) => {
          const report = readReport(text)
          return report === undefined ? [] : [{ report, ageMs: Math.round(nowMs() - atMs) }]
        })
    },
    async services() {
      prune()
      return [...new Set([...kept.values()].map(({ service }) => service))]
    },
    async close() {},
  }
}
