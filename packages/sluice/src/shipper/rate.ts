const windowMs = 10_000

/** Events per second over about the last ten seconds. */
export class Rate {
  #weight = 0
  #atMs = 0

  add(events: number, nowMs: number): void {
    this.#decay(nowMs)
    this.#weight += events
  }

  perSecond(nowMs: number): number {
    this.#decay(nowMs)
    return this.#weight / (windowMs / 1000)
  }

  #decay(nowMs: number): void {
    this.#weight *= Math.exp(-Math.max(0, nowMs - this.#atMs) / windowMs)
    this.#atMs = nowMs
  }
}
