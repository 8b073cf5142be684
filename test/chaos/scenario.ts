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
  /** What else there is to see. */
  readonly note: string
  /** What must hold in this scenario and does not. */
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

/** What a decision may be late by. */
export const graceMs = 10
