const windowMs = 10_000
/** Events of a shorter time make no rate: the first one is not a million per second. */
const leastMs = 1000

/** Events per second over about the last ten seconds, or since it began, by a clock that never goes back. */
export class Rate {
  readonly #begunMs: number
  #weight = 0
  #atMs: number

  constructor(nowMs: number) {
    this.#begunMs = nowMs
    this.#atMs = nowMs
  }

  add(events: number, nowMs: number): void {
    this.#decay(nowMs)
    this.#weight += events
  }

  perSecond(nowMs: number): number {
    this.#decay(nowMs)
    const seenMs = Math.max(leastMs, nowMs - this.#begunMs)
    return this.#weight / ((windowMs / 1000) * (1 - Math.exp(-seenMs / windowMs)))
  }

  #decay(nowMs: number): void {
    this.#weight *= Math.exp(-Math.max(0, nowMs - this.#atMs) / windowMs)
    this.#atMs = nowMs
  }
}
