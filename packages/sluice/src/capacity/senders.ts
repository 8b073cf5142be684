/** How long a shipper counts after it has asked. */
const rememberMs = 30_000
/** More than these are counted as this many: an attacker with random names must not fill the memory. */
const mostSenders = 100_000

/** Longer names are one. They are not cut: the beginning of a text keeps all of it in memory. */
const longestName = 200

/** Who has asked for capacity of late. A row of the table is the total for all of them. */
export class Senders {
  /** By name, in the order in which they last asked. */
  readonly #askedMs = new Map<string, number>()

  /** Notes that a shipper asks, and returns how many have asked in the last 30 s, itself included. */
  asks(given: string, nowMs: number): number {
    const name = given.length <= longestName ? given : 'too long'
    this.#askedMs.delete(name)
    if (this.#askedMs.size < mostSenders) this.#askedMs.set(name, nowMs)
    return this.count(nowMs)
  }

  count(nowMs: number): number {
    for (const [name, askedMs] of this.#askedMs) {
      if (nowMs - askedMs < rememberMs) break
      this.#askedMs.delete(name)
    }
    return Math.max(1, this.#askedMs.size)
  }
}
