/** What a bounded map keeps of one entry. */
export interface Sized {
  /** Estimated bytes of the entry, key included. */
  readonly bytes: number
}

/** One entry in the order of insertion. `visited` is all that a hit writes. */
class Node<V> {
  readonly key: string
  value: V
  visited = false
  newer: Node<V> | undefined
  older: Node<V> | undefined

  constructor(key: string, value: V) {
    this.key = key
    this.value = value
  }
}

/**
 * A map bounded by entries and by bytes, with SIEVE eviction (Zhang et al., NSDI'24): entries are in the order of
 * insertion, a hit only marks its entry, and a hand that moves from old to new evicts the first unmarked one and clears
 * the marks that it passes. A scan of keys that are read once is evicted before the marked ones.
 *
 *     newest  o  o* o  o* o*  o  oldest        * visited
 *                      ^hand -> moves towards the newest, then starts again at the oldest
 */
export class SieveMap<V extends Sized> {
  readonly #nodes = new Map<string, Node<V>>()
  readonly #maxEntries: number
  readonly #maxBytes: number
  #newest: Node<V> | undefined
  #oldest: Node<V> | undefined
  #hand: Node<V> | undefined
  #bytes = 0
  evictions = 0

  constructor(maxEntries: number, maxBytes: number) {
    this.#maxEntries = maxEntries
    this.#maxBytes = maxBytes
  }

  get size(): number {
    return this.#nodes.size
  }

  get bytes(): number {
    return this.#bytes
  }

  get(key: string): V | undefined {
    const node = this.#nodes.get(key)
    if (node === undefined) return undefined
    node.visited = true
    return node.value
  }

  /** Reads without counting as a use. */
  peek(key: string): V | undefined {
    return this.#nodes.get(key)?.value
  }

  /** Keeps a value, unless it is larger than the whole map may be; makes room first. */
  set(key: string, value: V): void {
    const known = this.#nodes.get(key)
    if (value.bytes > this.#maxBytes) {
      this.delete(key)
      return
    }
    if (known !== undefined) {
      this.#bytes += value.bytes - known.value.bytes
      known.value = value
      known.visited = true
      while (this.#bytes > this.#maxBytes) this.#evict(known)
      return
    }
    while (this.#nodes.size >= this.#maxEntries || this.#bytes + value.bytes > this.#maxBytes) this.#evict()
    const node = new Node(key, value)
    node.older = this.#newest
    if (this.#newest) this.#newest.newer = node
    this.#newest = node
    this.#oldest ??= node
    this.#nodes.set(key, node)
    this.#bytes += value.bytes
  }

  delete(key: string): void {
    const node = this.#nodes.get(key)
    if (node !== undefined) this.#unlink(node)
  }

  clear(): void {
    this.#nodes.clear()
    this.#newest = undefined
    this.#oldest = undefined
    this.#hand = undefined
    this.#bytes = 0
  }

  *entries(): Generator<readonly [string, V]> {
    for (const [key, node] of this.#nodes) yield [key, node.value]
  }

  #evict(spared?: Node<V>): void {
    let node = this.#hand ?? this.#oldest
    while (node !== undefined && (node.visited || node === spared)) {
      node.visited = false
      node = node.newer ?? this.#oldest
    }
    if (node === undefined) return
    this.#hand = node.newer
    this.#unlink(node)
    this.evictions += 1
  }

  #unlink(node: Node<V>): void {
    if (this.#hand === node) this.#hand = node.newer
    if (node.newer) node.newer.older = node.older
    else this.#newest = node.older
    if (node.older) node.older.newer = node.newer
    else this.#oldest = node.newer
    this.#nodes.delete(node.key)
    this.#bytes -= node.value.bytes
  }
}
