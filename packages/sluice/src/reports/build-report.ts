import { maxReportBytes, maxSections, type Report, type ReportPart, reportVersion } from '../core/observe/report.ts'

/** Which process reports. */
export type Reporting = Pick<Report, 'service' | 'replica' | 'host' | 'pid' | 'startedAt'>

/** Room for everything but the sections. */
const headBytes = 2048

/**
 * The report of a process as text. A section that does not fit, or whose `stats` throws, is left out and named: one
 * part must not keep the others from reporting.
 */
export function buildReport(process: Reporting, parts: readonly ReportPart[]): string {
  const sections: string[] = []
  const omitted: string[] = []
  let left = maxReportBytes - headBytes
  for (const part of parts) {
    const section = sections.length < maxSections ? sectionOf(part) : undefined
    const bytes = section === undefined ? Number.POSITIVE_INFINITY : Buffer.byteLength(section) + 1
    if (section !== undefined && bytes <= left) {
      sections.push(section)
      left -= bytes
    } else if (omitted.length < 10) omitted.push(`${part.kind} ${part.name}`.slice(0, 80))
  }
  const { service, replica, host, pid, startedAt } = process
  const head = JSON.stringify({ v: reportVersion, service, replica, host: host.slice(0, 200), pid, startedAt, omitted })
  return `${head.slice(0, -1)},"sections":[${sections.join(',')}]}`
}

function sectionOf(part: ReportPart): string | undefined {
  try {
    return JSON.stringify({ kind: part.kind, name: part.name, stats: part.stats() ?? null })
  } catch {
    return undefined
  }
}
