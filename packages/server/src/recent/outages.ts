/** A time in which decisions were made without the store. */
export interface Outage {
  readonly sinceMs: number
  /** How the store failed, in one word and in its own words. */
  readonly failure: string
  readonly message: string
  readonly decisions: number
}

/** Without a degraded decision for this long, and with the breaker closed, it is over. */
const quietMs = 5000

/** Distinguishes outages from single failures, and records when they began and ended. */
export class Outages {
  #failure = { failure: 'unknown', message: '' }
  #breaker: 'closed' | 'open' | 'half-open' = 'closed'
  #current: { sinceMs: number; lastMs: number; decisions: number } | undefined

  failed(failure: string, message: string): void {
    this.#failure = { failure, message }
  }

  breakerIs(state: 'closed' | 'open' | 'half-open', nowMs: number): void {
    this.#breaker = state
    if (state === 'open') this.#current ??= { sinceMs: nowMs, lastMs: nowMs, decisions: 0 }
  }

  degraded(nowMs: number): void {
    this.#current ??= { sinceMs: nowMs, lastMs: nowMs, decisions: 0 }
    this.#current.lastMs = nowMs
    this.#current.decisions++
  }

  get current(): Outage | undefined {
    if (this.#current === undefined) return undefined
    const { sinceMs, decisions } = this.#current
    return { sinceMs, decisions, ...this.#failure }
  }

  /** The outage that is over now, if one is. */
  ended(nowMs: number): (Outage & { readonly untilMs: number }) | undefined {
    const { current } = this
    if (current === undefined || this.#breaker !== 'closed' || nowMs - this.#current!.lastMs < quietMs) return undefined
    const untilMs = this.#current!.lastMs
    this.#current = undefined
    return { ...current, untilMs }
  }
}
