/** Most decisions that begin in one turn of the event loop: some milliseconds of work. */
const perTurn = 64

/**
 * Spreads decisions that are asked for at once over turns of the event loop, in their order. A turn that began
 * thousands would take longer than the deadline of the first of them, with nobody to read the replies of the store; a
 * deadline begins with its decision.
 */
export class DecisionTurns {
  #begun = 0
  readonly #waiting: (() => void)[] = []

  /** Undefined when a decision may begin at once. */
  begin(): Promise<void> | undefined {
    if (this.#begun < perTurn && this.#waiting.length === 0) {
      this.#count()
      return undefined
    }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #count(): void {
    if (this.#begun++ === 0) setImmediate(this.#next)
  }

  readonly #next = (): void => {
    this.#begun = 0
    for (const begin of this.#waiting.splice(0, perTurn)) {
      this.#count()
      begin()
    }
  }
}
