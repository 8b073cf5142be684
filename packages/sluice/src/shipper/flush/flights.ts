import type { Clock } from '../../core/clock.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { Capacity } from '../backoff/state.ts'
import { eventId } from '../log/segment/segment-name.ts'
import type { StoredEvent } from '../log/segment/stored-event.ts'
import type { SegmentLog } from '../log/segment-log.ts'
import type { SendAnswer } from './answers.ts'
import { resultsById } from './answers.ts'
import type { Transport } from './transport.ts'

/** A batch whose first request is in flight. */
export interface Flight {
  readonly events: readonly StoredEvent[]
  readonly startedMs: number
  /** The answer to all of its events, once; then undefined. */
  answer(): Promise<SendAnswer> | undefined
  readonly settled: Promise<unknown>
}

export interface FlightsParts {
  readonly log: SegmentLog
  readonly transport: Transport
  readonly clock: Clock
  readonly maxBatchBytes: number
  readonly stop: AbortSignal
  readonly abort: AbortSignal
}

/**
 * Sends batches ahead, as many as the server allows at a time. They are completed one after the other, in their order:
 * what a crash or a failure leaves of those behind is sent again.
 */
export class Flights {
  readonly #parts: FlightsParts
  readonly #ahead: Flight[] = []
  #startedMs = Number.NEGATIVE_INFINITY
  #completedMs = Number.NEGATIVE_INFINITY
  /** The server did not have the batch before one that was sent ahead, as with several servers behind one address. */
  #isOneByOne = false

  constructor(parts: FlightsParts) {
    this.#parts = parts
  }

  get isEmpty(): boolean {
    return this.#ahead.length === 0
  }

  /** Sends as many as may be in flight; the number of events sent, 0 when there are no more. */
  async fill(capacity: Capacity, maxEvents: number, mayHaveSeveral: boolean): Promise<number> {
    const { log, maxBatchBytes, stop } = this.#parts
    const most = mayHaveSeveral && !this.#isOneByOne ? capacity.maxInFlight : 1
    let count = 0
    while (this.#ahead.length < most) {
      await this.#keepDistance(capacity.delayBetweenBatches, most)
      if (stop.aborted) break
      const events = await log.take(Math.min(capacity.maxBatchSize, maxEvents), maxBatchBytes, this.#ahead.length)
      if (events.length === 0) break
      this.#send(events)
      count += events.length
    }
    return count
  }

  /** The oldest. */
  shift(): Flight | undefined {
    return this.#ahead.shift()
  }

  /** The oldest is complete. */
  completed(): void {
    this.#completedMs = this.#parts.clock.monotonic()
  }

  /** Waits until nothing is in flight, and forgets the answers. */
  async settle(): Promise<void> {
    await Promise.all(this.#ahead.splice(0).map(({ settled }) => settled))
  }

  #send(events: readonly StoredEvent[]): void {
    const { transport, clock, abort } = this.#parts
    const former = this.#ahead.at(-1)?.events.at(-1)
    const after = former && eventId(former.producer, former.seq)
    this.#startedMs = clock.monotonic()
    const settled = transport.send(events, abort, after)
    let answer: Promise<SendAnswer> | undefined = settled
    this.#ahead.push({
      events,
      startedMs: this.#startedMs,
      settled,
      answer: () => {
        const first = answer
        answer = undefined
        return after === undefined ? first : first?.then((given) => this.#inOrder(events, given))
      },
    })
  }

  /** The batch before it is complete now, so that one that came too early is sent again. */
  async #inOrder(events: readonly StoredEvent[], answer: SendAnswer): Promise<SendAnswer> {
    if (answer.kind !== 'accepted' || answer.results === undefined) return answer
    const results = resultsById(answer.results)
    const isWanted = ({ producer, seq }: StoredEvent): boolean =>
      (results.get(eventId(producer, seq))?.status ?? 'retry') === 'retry'
    if (!events.every(isWanted)) return answer
    this.#isOneByOne = true
    return this.#parts.transport.send(events, this.#parts.abort)
  }

  /** The delay is between one batch and the next; if several may be in flight, as many begin within that time. */
  async #keepDistance(delayMs: number, most: number): Promise<void> {
    const { clock, stop } = this.#parts
    const sinceMs = most > 1 ? this.#startedMs : this.#completedMs
    const restMs = sinceMs + delayMs / most - clock.monotonic()
    if (restMs > 0) await sleep(restMs, clock, stop).catch(() => {})
  }
}
