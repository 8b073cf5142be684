/** How many keys without a flight are kept. */
const maxIdle = 4096

/** The place of one key. */
export interface FlightSlot<Flight> {
  flight: Flight | undefined
}

/**
 * What is in flight, by key. The slot of a key stays when its flight has ended, until there are too many without one.
 *
 * A `Map` whose entries are added and deleted all the time is slow: V8 replaces its table every few hundred times, and
 * each old table refers to the next one. Once one of them is in old space, it and all later ones, with every value that
 * was in them, stay in memory until the next full garbage collection, and every other one copies them.
 */
export class FlightMap<Flight> {
  #slots = new Map<string, FlightSlot<Flight>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** How many keys are kept, with a flight or without. */
  get keys(): number {
    return this.#slots.size
  }

  get(key: string): Flight | undefined {
    return this.#slots.get(key)?.flight
  }

  /** The slot of a key. One that stays empty may be replaced by the next call. */
  slot(key: string): FlightSlot<Flight> {
    const known = this.#slots.get(key)
    if (known !== undefined) return known
    if (this.#slots.size >= 2 * this.#size + maxIdle) this.#removeIdle()
    const slot = { flight: undefined }
    this.#slots.set(key, slot)
    return slot
  }

  /** Puts a flight into a slot, in place of the one that was there. */
  begin(slot: FlightSlot<Flight>, flight: Flight): void {
    if (slot.flight === undefined) this.#size += 1
    slot.flight = flight
  }

  /** Ends a flight, unless another has taken its place. */
  end(slot: FlightSlot<Flight>, flight: Flight): void {
    if (slot.flight !== flight) return
    slot.flight = undefined
    this.#size -= 1
  }

  /** All flights. */
  flights(): Flight[] {
    const all: Flight[] = []
    for (const { flight } of this.#slots.values()) if (flight !== undefined) all.push(flight)
    return all
  }

  #removeIdle(): void {
    const slots = this.#slots
    this.#slots = new Map()
    for (const [key, slot] of slots) if (slot.flight !== undefined) this.#slots.set(key, slot)
  }
}
