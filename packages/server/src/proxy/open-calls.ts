import { systemClock, withinTime } from 'sluice/internal'

/** A call that is being answered. */
interface OpenCall {
  /** Answers it now. */
  end(): void
}

/** The calls that a proxy is answering, so that it can stop when they are over. */
export class OpenCalls {
  readonly #calls = new Set<OpenCall>()
  #isEnding = false
  #onEmpty: () => void = () => {}

  get size(): number {
    return this.#calls.size
  }

  /** Whether new calls are refused. */
  get isEnding(): boolean {
    return this.#isEnding
  }

  add(call: OpenCall): void {
    this.#calls.add(call)
  }

  /** The call is over. */
  delete(call: OpenCall): void {
    this.#calls.delete(call)
    if (this.#calls.size === 0) this.#onEmpty()
  }

  /** Resolves when all calls are over. After `withinMs`, those that have no answer yet get 503. */
  async end(withinMs: number): Promise<void> {
    this.#isEnding = true
    if (this.#calls.size === 0) return
    const empty = new Promise<void>((resolve) => {
      this.#onEmpty = resolve
    })
    await withinTime(empty, { ms: withinMs, clock: systemClock(), late: () => undefined }).catch(() => {})
    for (const call of this.#calls) call.end()
  }
}
