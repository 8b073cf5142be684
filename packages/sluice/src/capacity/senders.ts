/** How long a shipper counts after its last request. */
const rememberMs = 30_000
/** More than these are counted as this many: an attacker with random names must not fill the memory. */
const mostSenders = 100_000

/** Longer names count as one shipper. They are not truncated: a substring would keep the whole text in memory. */
const longestName = 200

/** The shippers that requested capacity recently. A row of the table is the total for all of them. */
export class Senders {
  /** By name, in the order of their last requests. */
  readonly #requestedMs = new Map<string, number>()

  /** Records a request of a shipper, and returns how many sent one in the last 30 s, itself included. */
  add(given: string, nowMs: number): number {
    const name = given.length <= longestName ? given : 'too long'
    this.#requestedMs.delete(name)
    if (this.#requestedMs.size < mostSenders) this.#requestedMs.set(name, nowMs)
    return this.count(nowMs)
  }

  count(nowMs: number): number {
    for (const [name, requestedMs] of this.#requestedMs) {
      if (nowMs - requestedMs < rememberMs) break
      this.#requestedMs.delete(name)
    }
    return Math.max(1, this.#requestedMs.size)
  }
}
