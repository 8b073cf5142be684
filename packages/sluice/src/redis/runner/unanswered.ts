/** A call that was sent. */
export interface SentCall {
  readonly sentMs: number
  isOver: boolean
}

/** How many calls that are over may stay in the list: removing each by itself would cost more than the space. */
const maxOver = 512

/** The calls that have no reply yet, in the order of sending, in which nearly all are answered. */
export class Unanswered {
  #calls: SentCall[] = []
  /** Calls before this one are over. */
  #head = 0

  add(sentMs: number): SentCall {
    const call = { sentMs, isOver: false }
    this.#calls.push(call)
    return call
  }

  /** The call has a reply, or will never have one. */
  remove(call: SentCall): void {
    call.isOver = true
    while (this.#calls[this.#head]?.isOver) this.#head++
    if (this.#head <= maxOver) return
    this.#calls = this.#calls.slice(this.#head)
    this.#head = 0
  }

  /** When the oldest of them was sent; `Infinity` without any. */
  get oldestMs(): number {
    return this.#calls[this.#head]?.sentMs ?? Infinity
  }
}
