/** One line of the table. */
export interface Row {
  readonly fault: string
  readonly decisions: number
  /** How long after its deadline the latest decision settled; negative when all were early. */
  readonly worstOverMs: number
  readonly overAdmitted: number
  readonly underAdmitted: number
  readonly phantom: number
  readonly unsettled: number
  /** Other observations. */
  readonly note: string
  /** Requirements of this scenario that do not hold. */
  readonly wrong: readonly string[]
}

export interface Context {
  /** How often failovers are repeated. */
  readonly cycles: number
  /** 1 in the full run; less in the short one. */
  readonly scale: number
  /** Whether times are judged: not on machines that are busy with other tests. */
  readonly judgeTime: boolean
  progress(text: string): void
}

/** A fault under load. Starts and stops its own servers. */
export interface Scenario {
  readonly name: string
  run(context: Context): Promise<Row[]>
}

/** How late a decision may be. */
export const graceMs = 10
