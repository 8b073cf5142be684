/** How many entries stand in the small map: with their keys, they fit into the caches of a processor. */
const maxRecent = 16_384

/**
 * A map of up to millions of entries. What was asked for lately stands in a small map before it: an entry of a large
 * one is spread over several lines of memory that no cache holds, and finding it there takes several times as long.
 */
export class LargeMap<Value extends {}> {
  readonly #all = new Map<string, Value>()
  readonly #recent = new Map<string, Value>()

  get size(): number {
    return this.#all.size
  }

  get(key: string): Value | undefined {
    if (this.#all.size <= maxRecent) return this.#all.get(key)
    const recent = this.#recent.get(key)
    if (recent !== undefined) return recent
    const value = this.#all.get(key)
    if (value === undefined) return undefined
    if (this.#recent.size >= maxRecent) this.#recent.clear()
    this.#recent.set(key, value)
    return value
  }

  set(key: string, value: Value): void {
    this.#recent.delete(key)
    this.#all.set(key, value)
  }

  delete(key: string): boolean {
    this.#recent.delete(key)
    return this.#all.delete(key)
  }

  /** In the order in which they were added. */
  keys(): IterableIterator<string> {
    return this.#all.keys()
  }
}
