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
  /**
   * What an operator may have it do, by name, if the process allows actions. `item` is one of several in the part, such
   * as the key of a breaker. A text that it resolves to is shown.
   */
  readonly actions?: Readonly<Record<string, (item: string | undefined) => unknown>>
}

/** One part in a report. */
export interface ReportSection {
  readonly kind: string
  readonly name: string
  /** Tells it from other parts of the process with the same kind and name. Older versions have none. */
  readonly id?: number
  readonly stats: unknown
  /** What an operator may have it do. */
  readonly actions?: readonly string[]
}

/** Something for a part of a process to do. */
export interface PartAction {
  readonly kind: string
  readonly name: string
  /** One of several in the part, such as the key of a breaker. */
  readonly item?: string | undefined
  readonly action: string
}

/** What became of an action. */
export interface ActionResult {
  readonly id: string
  readonly state: 'running' | 'done' | 'failed'
  /** What it did in short, or the code of the error. */
  readonly text: string
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
  /** The last actions of operators. */
  readonly results?: readonly ActionResult[]
}

/** The largest report, in bytes, and the most sections. */
export const maxReportBytes: number = 64 * 1024
export const maxSections = 64

/** The most actions that wait for a process, and that it reports on. */
export const maxActions = 8
