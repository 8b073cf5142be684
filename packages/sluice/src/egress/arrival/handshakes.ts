const slotMs = 60_000
const slots = 10

/**
 * How long a packet and its answer take to an origin and back, from the handshakes of its connections. Each minute
 * counts with its shortest handshake, since what makes the others of that minute longer is mostly this process, which
 * reads their answers late when it opens many at a time; of the last ten minutes the longest counts.
 */
export class Handshakes {
  readonly #slots: { readonly slot: number; ms: number }[] = []

  /** A handshake took `ms` and was over at `nowMs` of the monotonic clock. */
  add(ms: number, nowMs: number): void {
    const slot = Math.floor(nowMs / slotMs)
    const last = this.#slots.at(-1)
    if (last?.slot === slot) last.ms = Math.min(last.ms, ms)
    else {
      this.#slots.push({ slot, ms })
      // The latest stays however old it is: connections that are kept open need no new handshakes.
      if (this.#slots.length > slots) this.#slots.shift()
    }
  }

  /** Undefined before the first handshake. */
  roundTripMs(nowMs: number): number | undefined {
    const oldest = Math.floor(nowMs / slotMs) - slots
    while (this.#slots.length > 1 && this.#slots[0]!.slot <= oldest) this.#slots.shift()
    return this.#slots.length === 0 ? undefined : Math.max(...this.#slots.map(({ ms }) => ms))
  }
}
