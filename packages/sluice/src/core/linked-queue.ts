interface Node<T> {
  readonly value: T
  previous: Node<T> | undefined
  next: Node<T> | undefined
  isIn: boolean
}

/**
 * A first-in-first-out queue that can also be left from the middle. Every operation is O(1), and what has left is not
 * kept.
 */
export class LinkedQueue<T> {
  #first: Node<T> | undefined
  #last: Node<T> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Adds a value at the end; the returned function takes it out again, if it is still there. */
  push(value: T): () => void {
    const node: Node<T> = { value, previous: this.#last, next: undefined, isIn: true }
    if (this.#last) this.#last.next = node
    else this.#first = node
    this.#last = node
    this.#size += 1
    return () => this.#remove(node)
  }

  /** Takes out the first value. */
  shift(): T | undefined {
    const node = this.#first
    if (node) this.#remove(node)
    return node?.value
  }

  #remove(node: Node<T>): void {
    if (!node.isIn) return
    node.isIn = false
    if (node.previous) node.previous.next = node.next
    else this.#first = node.next
    if (node.next) node.next.previous = node.previous
    else this.#last = node.previous
    node.previous = undefined
    node.next = undefined
    this.#size -= 1
  }
}
