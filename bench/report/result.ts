/** A claim of the project, and the result of this run. */
export interface TargetResult {
  readonly claim: string
  /** Ours and the peer's, as the table shows them. */
  readonly ours: string
  readonly peer: string
  readonly figure: string
  readonly met: boolean
}

/** What one case measured: a table for people, the figures for programs, and the targets. */
export interface CaseResult {
  readonly section: string
  readonly title: string
  /** The first row has the headings. */
  readonly table: readonly (readonly string[])[]
  readonly figures: unknown
  readonly targets: readonly TargetResult[]
}
