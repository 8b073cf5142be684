/**
 * When each scope was last invalidated, under one generation. Bounded: the oldest are forgotten first, and the floor then says up to
 * where nothing is known any more.
 */
export class InvalidationTable {
  readonly #max: number
  readonly #last = new Map<string, number>()
  #floor: number

  constructor(max: number, floor: number) {
    this.#max = max
    this.#floor = floor
  }

  get size(): number {
    return this.#last.size
  }

  /** Entries stamped earlier than this cannot be judged. */
  get floor(): number {
    return this.#floor
  }

  record(scope: string, sequence: number): void {
    const known = this.#last.get(scope)
    if (known !== undefined && known >= sequence) return
    // A Map keeps the order of insertion, so the first is the one that was invalidated longest ago.
    this.#last.delete(scope)
    this.#last.set(scope, sequence)
    if (this.#last.size <= this.#max) return
    const [oldest, at] = this.#last.entries().next().value!
    this.#last.delete(oldest)
    this.#floor = Math.max(this.#floor, at)
  }

  raiseFloor(floor: number): void {
    this.#floor = Math.max(this.#floor, floor)
  }

  /** Whether the scope was invalidated after the position with this sequence. */
  changedSince(scope: string, sequence: number): boolean {
    const at = this.#last.get(scope)
    return at !== undefined && at > sequence
  }
}
