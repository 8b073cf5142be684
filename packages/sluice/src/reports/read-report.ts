import {
  type ActionResult,
  maxActions,
  maxReportBytes,
  maxSections,
  type Report,
  type ReportSection,
  reportVersion,
} from '../core/observe/report.ts'

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
  const { results = [] } = value
  if (!isListOf(isResult, results)) return undefined
  return { v: reportVersion, service, replica, host, pid: pid as number, startedAt, sections, omitted, results }
}

function isSection(value: unknown): value is ReportSection {
  return (
    isObject(value) &&
    isName(value.kind) &&
    isText(value.name) &&
    (value.id === undefined || Number.isSafeInteger(value.id)) &&
    (value.actions === undefined || isListOf(isName, value.actions))
  )
}

function isResult(value: unknown): value is ActionResult {
  return isObject(value) && isName(value.id) && isState(value.state) && isText(value.text)
}

function isState(value: unknown): boolean {
  return value === 'running' || value === 'done' || value === 'failed'
}

/** A short list: of actions, or of what became of them. */
function isListOf<Value>(is: (each: unknown) => each is Value, value: unknown): value is readonly Value[] {
  return Array.isArray(value) && value.length <= maxActions && value.every(is)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 200
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
