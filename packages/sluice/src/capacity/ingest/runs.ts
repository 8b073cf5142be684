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
