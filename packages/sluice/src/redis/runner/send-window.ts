import { LinkedQueue } from '../../core/linked-queue.ts'
import { type SentCall, Unanswered } from './unanswered.ts'

/**
 * Most keys of calls in flight to one server: tens of milliseconds of its time. With more, calls would miss their
 * deadlines in the queue of a server that is well, and its silence would no longer show that it is not.
 */
export const maxKeysInFlight = 8192

/** Bounds what is in flight to one server. Calls beyond that wait in this process, in their order. */
export class SendWindow {
  readonly #unanswered = new Unanswered()
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

  sent(keys: number, nowMs: number): SentCall {
    this.#keys += keys
    return this.#unanswered.add(nowMs)
  }

  /** How long the last reply took: until it was read here. */
  get tookMs(): number {
    return this.#tookMs
  }

  replied(tookMs: number): void {
    this.#tookMs = tookMs
  }

  /** A call has its reply, or will never have one. */
  ended(keys: number, call: SentCall): void {
    this.#unanswered.remove(call)
    this.#keys -= keys
    while (this.#keys < maxKeysInFlight && this.#waiting.size > 0) this.#waiting.shift()!()
  }

  /** For how long the server has owed the oldest reply; 0 when it owes none. */
  owedMs(nowMs: number): number {
    return Math.max(0, nowMs - this.#unanswered.oldestMs)
  }
}
