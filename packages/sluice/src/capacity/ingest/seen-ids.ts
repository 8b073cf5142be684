/** The state of an event that arrives: not yet seen (and now claimed by the caller), being stored, or stored before. */
export type Seen = 'new' | 'pending' | 'done'

/** Remembers which events were accepted. */
export interface SeenIds {
  /** Claims events, in the order of `ids`. A claim that is neither finished nor released expires after a minute. */
  claim(ids: readonly string[]): Promise<readonly Seen[]>
  /** The events were stored. */
  finish(ids: readonly string[]): Promise<void>
  /** The events were not stored and may be sent again. */
  release(ids: readonly string[]): Promise<void>
  /** Whether claims can be made now, where that depends on something; it must answer in time. */
  isReachable?(withinMs: number): Promise<boolean>
  close(): Promise<void>
}

/** How long a claim lasts if the process that made it neither finishes nor releases it. */
export const claimMs = 60_000

/** How many runs are kept of one producer; the others are dropped. */
export const mostRuns = 64

/**
 * Numbers of accepted events, as runs without gaps: `[first, last]` in order. Events come in order, so there is mostly
 * one run. A producer whose events were refused or lost leaves a permanent gap, which must not cost memory for every
 * event after it. With too many runs the lowest is dropped: at worst an event is accepted twice, never dropped.
 */
export class Runs {
  readonly #runs: [first: number, last: number][] = []

  has(seq: number): boolean {
    const run = this.#runs[this.#before(seq)]
    return run !== undefined && seq <= run[1]
  }

  add(seq: number): void {
    const at = this.#before(seq)
    const [run, next] = [this.#runs[at], this.#runs[at + 1]]
    if (run !== undefined && seq <= run[1]) return
    const [joinsRun, joinsNext] = [run?.[1] === seq - 1, next?.[0] === seq + 1]
    if (run !== undefined && joinsRun) {
      run[1] = seq
      if (next !== undefined && joinsNext) {
        run[1] = next[1]
        this.#runs.splice(at + 1, 1)
      }
    } else if (next !== undefined && joinsNext) next[0] = seq
    else this.#runs.splice(at + 1, 0, [seq, seq])
    if (this.#runs.length > mostRuns) this.#runs.shift()
  }

  /** The index of the last run that begins at or below a number; -1 if there is none. */
  #before(seq: number): number {
    let at = this.#runs.length - 1
    while (at >= 0 && this.#runs[at]![0] > seq) at--
    return at
  }
}
