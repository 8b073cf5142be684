import type { ReceivedReport } from './read-report.ts'

/** How long a report counts without a newer one. */
export const reportTtlMs = 10_000

/** Where reports go. */
export interface ReportDestination {
  /** For people, without secrets. */
  readonly description: string
  send(service: string, replica: string, text: string, withinMs: number): Promise<void>
  /** Takes back what this process reported, so that it disappears at once and not only when it expires. */
  remove(service: string, replica: string, withinMs: number): Promise<void>
  close(): Promise<void>
}

/** Where reports of a fleet are read. */
export interface ReportReader {
  /** The reports of a service that have not expired. */
  read(service: string, withinMs: number): Promise<readonly ReceivedReport[]>
  /** The services that report or did in the last half minute, at most 1,000, in no order. */
  services(withinMs: number): Promise<readonly string[]>
  close(): Promise<void>
}
