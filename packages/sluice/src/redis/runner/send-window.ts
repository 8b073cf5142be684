import { LinkedQueue } from '../../core/linked-queue.ts'

/**
 * Most keys of calls in flight to one server: tens of milliseconds of its time. With more, calls would miss their
 * deadlines in the queue of a server that is well, and its silence would no longer show that it is not.
 */
export const maxKeysInFlight = 8192

/** How many calls that are over may stay in the list: removing each by itself would cost more than the space. */
const maxOver = 512

/** A call that was sent. */
interface SentCall {
  readonly keys: number
  readonly sentMs: number
  /** How late this process had been until then. */
  readonly lateMs: number
  isOver: boolean
}

/** The calls in flight to one server, and their bound. Calls beyond that wait in this process, in their order. */
export class SendWindow {
  /** In the order of sending, in which nearly all are answered. */
  #calls: SentCall[] = []
  /** Calls before this one are over. */
  #head = 0
  readonly #waiting = new LinkedQueue<() => void>()
  #keys = 0
  #tookMs = 0

  get isOpen(): boolean {
    return this.#keys < maxKeysInFlight && this.#waiting.size === 0
  }

  /** `send` is called when earlier calls are answered. */
  wait(send: () => void): void {
    this.#waiting.push(send)
  }

  sent(keys: number, sentMs: number, lateMs: number): SentCall {
    const call = { keys, sentMs, lateMs, isOver: false }
    this.#keys += keys
    this.#calls.push(call)
    return call
  }

  /** How long the last reply took: until it was read here. */
  get tookMs(): number {
    return this.#tookMs
  }

  replied(tookMs: number): void {
    this.#tookMs = tookMs
  }

  /** A call has its reply, or will never have one. */
  ended(call: SentCall): void {
    call.isOver = true
    this.#keys -= call.keys
    while (this.#calls[this.#head]?.isOver) this.#head++
    if (this.#head > maxOver) {
      this.#calls = this.#calls.slice(this.#head)
      this.#head = 0
    }
    while (this.#keys < maxKeysInFlight && this.#waiting.size > 0) this.#waiting.shift()!()
  }

  /** The oldest call that has no reply. */
  get oldest(): SentCall | undefined {
    return this.#calls[this.#head]
  }
}
