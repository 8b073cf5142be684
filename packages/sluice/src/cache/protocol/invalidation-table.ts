/**
 * When each scope was last invalidated, under one generation. Bounded: the oldest are removed first, and the floor then
 * marks up to where nothing is known any more.
 */
export class InvalidationTable {
  readonly #max: number
  readonly #last = new Map<string, { readonly sequence: number; readonly heardMs: number }>()
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

  /** Records an invalidation; `heardMs` is when this process received it. */
  record(scope: string, sequence: number, heardMs: number): void {
    const known = this.#last.get(scope)
    if (known !== undefined && known.sequence >= sequence) return
    // A Map keeps the order of insertion, so the first is the one that was received longest ago.
    this.#last.delete(scope)
    this.#last.set(scope, { sequence, heardMs })
    if (this.#last.size <= this.#max) return
    const [oldest, { sequence: forgotten }] = this.#last.entries().next().value!
    this.#last.delete(oldest)
    this.#floor = Math.max(this.#floor, forgotten)
  }

  raiseFloor(floor: number): void {
    this.#floor = Math.max(this.#floor, floor)
  }

  /** Whether the scope was invalidated after the position with this sequence. */
  changedSince(scope: string, sequence: number): boolean {
    const last = this.#last.get(scope)
    return last !== undefined && last.sequence > sequence
  }

  /** Whether this process received an invalidation of the scope at this time or later. */
  heardSince(scope: string, ms: number): boolean {
    const last = this.#last.get(scope)
    return last !== undefined && last.heardMs >= ms
  }
}
