/** The version of the report document. A reader ignores versions that it does not know. */
export const reportVersion = 1

/** The parts that can report. Others may use a name of their own. */
export type PartKind = 'limiter' | 'egress' | 'cache' | 'presence' | 'breaker' | 'shipper' | 'capacity' | 'pipeline'

/** What contributes one section to the reports of a process. */
export interface ReportPart {
  readonly kind: PartKind | (string & {})
  /** Distinguishes parts of one kind: the name of a cache, a breaker or a shipper. */
  readonly name: string
  /** The service that it belongs to, where it knows. */
  readonly service?: string
  /** How the part stands now: plain JSON of bounded size. Called every two seconds. */
  stats(): unknown
}

/** One part in a report. */
export interface ReportSection {
  readonly kind: string
  readonly name: string
  readonly stats: unknown
}

/** How all parts of one process stand. */
export interface Report {
  readonly v: typeof reportVersion
  readonly service: string
  /** One process; made up at its start. */
  readonly replica: string
  readonly host: string
  readonly pid: number
  /** When the process began to report, in milliseconds since the epoch by its own clock. */
  readonly startedAt: number
  readonly sections: readonly ReportSection[]
  /** Sections that were left out, as the report would have been too large or `stats` threw. */
  readonly omitted: readonly string[]
}

/** The largest report, in bytes, and the most sections. */
export const maxReportBytes: number = 64 * 1024
export const maxSections = 64
