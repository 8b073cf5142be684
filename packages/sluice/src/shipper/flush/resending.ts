import { eventId } from '../log/segment/segment-name.ts'
import type { StoredEvent } from '../log/segment/stored-event.ts'
import type { RejectedEvent } from '../rejected/rejected-events.ts'
import { deliver } from './deliver.ts'
import type { Transport } from './transport.ts'

export interface ResendReport {
  /** `stopped`: the server failed, or was not ready; the rest is kept. */
  readonly outcome: 'done' | 'stopped'
  readonly sent: number
  readonly duplicates: number
  /** Refused again, with the new reason. */
  readonly rejected: number
  /** Why it stopped. */
  readonly reason?: string
}

export interface ResendingOptions {
  readonly transport: Transport
  readonly maxBatchEvents: number
  readonly sleep: (ms: number) => Promise<void>
}

/** Sends rejected events again, batch by batch, as fast as the server allows. */
export class Resending {
  readonly #options: ResendingOptions
  #counts = { sent: 0, duplicates: 0, rejected: 0 }
  #stopped: string | undefined

  constructor(options: ResendingOptions) {
    this.#options = options
  }

  get report(): ResendReport {
    const reason = this.#stopped
    return reason === undefined ? { outcome: 'done', ...this.#counts } : { outcome: 'stopped', ...this.#counts, reason }
  }

  /** Sends these; returns which ones the server has, and why it refused others. */
  async send(events: readonly RejectedEvent[]): Promise<{ done: Set<string>; reasons: Map<string, string> }> {
    const done = new Set<string>()
    const reasons = new Map<string, string>()
    for (let at = 0; at < events.length && this.#stopped === undefined; ) {
      const size = await this.#requestCapacity(events.length - at)
      const batch = events.slice(at, at + size).map(toStored)
      if (batch.length > 0) await this.#deliver(batch, done, reasons)
      at += batch.length
    }
    return { done, reasons }
  }

  /** How many may be sent now. */
  async #requestCapacity(pending: number): Promise<number> {
    const answer = await this.#options.transport.capacity(pending, new AbortController().signal)
    if (answer.kind === 'capacity' && answer.capacity.ready) {
      await this.#options.sleep(answer.capacity.delayBetweenBatches)
      return Math.min(answer.capacity.maxBatchSize, this.#options.maxBatchEvents)
    }
    this.#stopped = answer.kind === 'capacity' ? 'the server is not ready' : answer.reason
    return 0
  }

  async #deliver(batch: readonly StoredEvent[], done: Set<string>, reasons: Map<string, string>): Promise<void> {
    const { transport, sleep } = this.#options
    const outcome = await deliver(batch, {
      send: (part) => transport.send(part, new AbortController().signal),
      done: async (part, rejections) => {
        for (const { producer, seq } of part) done.add(eventId(producer, seq))
        for (const { event, reason } of rejections) {
          done.delete(eventId(event.producer, event.seq))
          reasons.set(eventId(event.producer, event.seq), reason)
        }
      },
      pause: () => sleep(100),
    })
    this.#counts.sent += outcome.sent
    this.#counts.duplicates += outcome.duplicates
    this.#counts.rejected += outcome.rejected
    this.#stopped = outcome.stopped?.reason
  }
}

/** In the form of the log: the id is the producer and the number. */
function toStored({ id, storedAt, data }: RejectedEvent): StoredEvent {
  const at = id.lastIndexOf('-')
  const [producer, seq] = [id.slice(0, at), Number(id.slice(at + 1))]
  const bytes = Buffer.from(JSON.stringify(data))
  return { segment: '', producer, seq, timeMs: storedAt, end: 0, bytes, from: 0, to: bytes.length }
}
