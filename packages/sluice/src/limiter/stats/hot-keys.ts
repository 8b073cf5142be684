/** A key that was counted. The true count is at most `count` and at least `count - error`. */
export interface HotKey {
  readonly key: string
  readonly count: number
  readonly error: number
}

interface Entry {
  readonly key: string
  count: number
  error: number
  /** Its index in the heap. */
  at: number
}

/**
 * The most frequent keys of a stream, in bounded memory ("space-saving", Metwally and others, 2005): when a new key
 * comes and there is no room, it replaces the least frequent one and takes over its count. Every key with more
 * than 1/capacity of the total is there.
 */
export class HotKeys {
  readonly #capacity: number
  readonly #entries = new Map<string, Entry>()
  /** A heap with the least frequent key at the root. */
  readonly #heap: Entry[] = []

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  add(key: string, count: number): void {
    const known = this.#entries.get(key)
    if (known !== undefined) {
      known.count += count
      this.#sink(known)
      return
    }
    if (this.#heap.length < this.#capacity) {
      const entry = { key, count, error: 0, at: this.#heap.length }
      this.#heap.push(entry)
      this.#entries.set(key, entry)
      this.#rise(entry)
      return
    }
    const least = this.#heap[0]!
    this.#entries.delete(least.key)
    const entry = { key, count: least.count + count, error: least.count, at: 0 }
    this.#heap[0] = entry
    this.#entries.set(key, entry)
    this.#sink(entry)
  }

  /** The keys, most frequent first. */
  top(limit: number): HotKey[] {
    return [...this.#heap]
      .sort((a, b) => b.count - a.count)
      .slice(0, limit)
      .map(({ key, count, error }) => ({ key, count, error }))
  }

  #rise(entry: Entry): void {
    while (entry.at > 0) {
      const parent = this.#heap[(entry.at - 1) >> 1]!
      if (parent.count <= entry.count) return
      this.#swap(parent, entry)
    }
  }

  #sink(entry: Entry): void {
    for (;;) {
      const left = this.#heap[2 * entry.at + 1]
      const right = this.#heap[2 * entry.at + 2]
      const least = right !== undefined && right.count < left!.count ? right : left
      if (least === undefined || least.count >= entry.count) return
      this.#swap(entry, least)
    }
  }

  #swap(a: Entry, b: Entry): void {
    const { at } = a
    a.at = b.at
    b.at = at
    this.#heap[a.at] = a
    this.#heap[b.at] = b
  }
}
