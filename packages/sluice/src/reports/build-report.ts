import {
  type ActionResult,
  maxReportBytes,
  maxSections,
  type Report,
  type ReportPart,
  reportVersion,
} from '../core/observe/report.ts'
import { partOf } from './part-actions.ts'

/** Which process reports. */
export type Reporting = Pick<Report, 'service' | 'replica' | 'host' | 'pid' | 'startedAt'>

/** The numbers of the parts of this process. */
const ids = new WeakMap<ReportPart, number>()
let numbered = 0

/** Room for everything but the sections. */
const headBytes = 2048

/**
 * The report of a process as text. A section that does not fit, or whose `stats` throws, is left out and named: one
 * part must not keep the others from reporting. Actions are offered only with `results`, which has the last ones.
 */
export function buildReport(
  process: Reporting,
  parts: readonly ReportPart[],
  results?: readonly ActionResult[],
): string {
  const sections: string[] = []
  const omitted: string[] = []
  let left = maxReportBytes - headBytes - Buffer.byteLength(JSON.stringify(results ?? []))
  for (const part of parts) {
    const section = sections.length < maxSections ? sectionOf(part, results && offered(part, parts)) : undefined
    const bytes = section === undefined ? Number.POSITIVE_INFINITY : Buffer.byteLength(section) + 1
    if (section !== undefined && bytes <= left) {
      sections.push(section)
      left -= bytes
    } else if (omitted.length < 10) omitted.push(`${part.kind} ${part.name}`.slice(0, 80))
  }
  const { service, replica, host, pid, startedAt } = process
  const of = { v: reportVersion, service, replica, host: host.slice(0, 200), pid, startedAt }
  const head = JSON.stringify({ ...of, omitted, results })
  return `${head.slice(0, -1)},"sections":[${sections.join(',')}]}`
}

/** The actions of a part that can be told from the others. */
function offered(part: ReportPart, parts: readonly ReportPart[]): readonly string[] | undefined {
  return part.actions && partOf(part, parts) && Object.keys(part.actions)
}

function sectionOf(part: ReportPart, actions: readonly string[] | undefined): string | undefined {
  try {
    if (!ids.has(part)) ids.set(part, ++numbered)
    return JSON.stringify({ kind: part.kind, name: part.name, id: ids.get(part), stats: part.stats() ?? null, actions })
  } catch {
    return undefined
  }
}
