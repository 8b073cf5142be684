import { maxReportBytes, maxSections, type Report, type ReportSection, reportVersion } from '../core/observe/report.ts'

/** A report, and how long ago it was sent. */
export interface ReceivedReport {
  readonly report: Report
  readonly ageMs: number
}

/**
 * Reads a report that may come from anywhere: undefined when it is too large, of another version, or no report. What is
 * inside `stats` is left as it is.
 */
export function readReport(text: string): Report | undefined {
  if (text.length > maxReportBytes) return undefined
  const value = parsed(text)
  if (!isObject(value) || value.v !== reportVersion) return undefined
  const { service, replica, host, pid, startedAt, sections, omitted } = value
  if (!isName(service) || !isName(replica) || !isName(host)) return undefined
  if (!Number.isSafeInteger(pid) || typeof startedAt !== 'number' || !Number.isFinite(startedAt)) return undefined
  if (!Array.isArray(sections) || sections.length > maxSections || !sections.every(isSection)) return undefined
  if (!Array.isArray(omitted) || !omitted.every((each) => typeof each === 'string')) return undefined
  return { v: reportVersion, service, replica, host, pid: pid as number, startedAt, sections, omitted }
}

function isSection(value: unknown): value is ReportSection {
  return isObject(value) && isName(value.kind) && typeof value.name === 'string' && value.name.length <= 200
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 256
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
