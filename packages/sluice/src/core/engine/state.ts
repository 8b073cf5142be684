/** Units taken under an id that can still be settled, cancelled or extended. */
export interface Hold {
  readonly id: string
  readonly takenUs: number
  expiresUs: number
  readonly cost: number
  /**
   * `reserve`: when it expires its units come back. `acquire`: it occupies a place, and what else it spent stays spent.
   * `receipt`: only there so that a decision over several slots can be taken back; it occupies nothing.
   */
  readonly kind: HoldKind
}

export type HoldKind = 'reserve' | 'acquire' | 'receipt'

/** The entries of one sliding log, oldest first. */
export interface Log {
  readonly times: number[]
  readonly costs: number[]
}

/** What a subject has besides numbers. Only rules with a sliding log, a concurrency limit or open holds have it. */
export interface Extra {
  holds: Hold[]
  /** By the offset of the limit's fields within the subject. */
  readonly logs: Map<number, Log>
}

/**
 * The state of one subject: the numbers of all its limits side by side in `n`, from `at`.
 * A store keeps millions of subjects in one array and lends the engine a State that points into it.
 */
export interface State {
  n: Float64Array
  at: number
  extra: Extra | undefined
}

/** The extra of a state, made on first use. */
export function extraOf(state: State): Extra {
  state.extra ??= { holds: [], logs: new Map() }
  return state.extra
}
