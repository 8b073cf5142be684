/**
 * Units taken under an id that can still be settled, cancelled or extended. A hold that grew has one for each taking,
 * the oldest first.
 */
export interface Hold {
  readonly id: string
  readonly takenUs: number
  expiresUs: number
  cost: number
  /** The tags of the limits that it was taken from: only to those it is given back. */
  tags: readonly number[]
  /**
   * `reserve`: when it expires its units come back. `acquire`: it has a permit, and what else it spent stays spent.
   * `receipt`: a decision over several slots that is not confirmed yet; it has none, and comes back when it
   * expires. `pending`: an acquisition of such a decision; it has its permit, comes back when it expires, and
   * becomes `acquire` when it is confirmed by extending it. The others hold nothing, see `block.ts`.
   */
  kind: HoldKind
}

export type HoldKind = 'reserve' | 'acquire' | 'receipt' | 'pending' | BlockMark

export type BlockMark = 'block' | 'strikes' | 'last-block'

/** Whether a hold occupies a permit. */
export function hasPermit({ kind }: Hold): boolean {
  return kind === 'reserve' || kind === 'acquire' || kind === 'pending'
}

/** The entries of one sliding log, oldest first. */
export interface Log {
  readonly times: number[]
  readonly costs: number[]
}

/** The state of one limit that the subject's present set does not have. */
export interface KeptLimit {
  readonly tag: number
  readonly state: State
}

/**
 * What a subject has besides numbers. Only those with a sliding log, a concurrency limit, open holds or usage under
 * other limits have it.
 */
export interface Extra {
  holds: Hold[]
  kept: KeptLimit[]
  /** By the offset of the limit's fields within the subject. */
  readonly logs: Map<number, Log>
}

/**
 * The state of one subject: the numbers of all its limits side by side in `n`, from `at`.
 * A store keeps millions of subjects in one array and gives the engine a State that points into it.
 */
export interface State {
  n: Float64Array
  at: number
  extra: Extra | undefined
}

/** The extra of a state, made on first use. */
export function extraOf(state: State): Extra {
  state.extra ??= { holds: [], kept: [], logs: new Map() }
  return state.extra
}

/** The state of a subject that was never seen. */
export function blankState(fields: number): State {
  return { n: new Float64Array(fields), at: 0, extra: undefined }
}
