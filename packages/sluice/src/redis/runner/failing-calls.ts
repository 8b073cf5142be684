/** How many waiters are failed in one turn of the event loop. */
const waitersPerTurn = 256

/**
 * A lost connection fails all calls in flight at once. Failed together, thousands of waiters would delay each other
 * past their deadlines; so some are failed per turn of the event loop, in the order of sending.
 */
export class FailingCalls {
  /** `fail` returns for how many waiters the call stood. */
  readonly #calls: (() => number)[] = []

  add(fail: () => number): void {
    if (this.#calls.push(fail) === 1) setImmediate(() => this.#failSome())
  }

  #failSome(): void {
    let some = 0
    let waiters = 0
    while (some < this.#calls.length && waiters < waitersPerTurn) waiters += this.#calls[some++]!()
    this.#calls.splice(0, some)
    if (this.#calls.length > 0) setImmediate(() => this.#failSome())
  }
}
