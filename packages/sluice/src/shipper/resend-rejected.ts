import type { Clock } from '../core/clock.ts'
import { sleep } from '../runtime/sleep.ts'
import type { Capacity } from './backoff/state.ts'
import { type DeliverPorts, deliver, retryDelayMs } from './flush/deliver.ts'
import { transportOf } from './flush/http-transport.ts'
import type { Transport } from './flush/transport.ts'
import { eventId } from './log/segment/segment-name.ts'
import type { StoredEvent } from './log/segment/stored-event.ts'
import { resolveOptions, type ShipperOptions } from './options.ts'
import { shipperId } from './owner/shipper-id.ts'
import type { RejectedEvent } from './rejected/rejected-lines.ts'
import { takeRejected } from './rejected/take-rejected.ts'

export type ResendOptions = Pick<
  ShipperOptions,
  | 'dir'
  | 'endpoint'
  | 'capacityEndpoint'
  | 'headers'
  | 'send'
  | 'capacity'
  | 'timeout'
  | 'maxBatchEvents'
  | 'maxRetries'
  | 'fs'
> & {
  /** Which of them are sent; all when left out. */
  readonly choose?: (event: RejectedEvent) => boolean
}

/**
 * Sends rejected events again, under their old ids, as fast as the server allows. Events that it accepts are removed
 * from the files; those that it refuses again stay, with the new reason. Can be used while a shipper works on the
 * directory.
 *
 * @example
 * await resendRejected({
 *   dir: 'buffer',
 *   endpoint: 'https://collector.example/v1/events',
 *   choose: ({ reason }) => reason.includes('unknown field'),
 * })
 */
export async function resendRejected({ choose = () => true, ...options }: ResendOptions): Promise<ResendReport> {
  const resolved = resolveOptions(options)
  const { fs, dir } = resolved
  const transport = transportOf(resolved, await shipperId(fs, dir), () => {})
  const resending = new Resending({ ...resolved, transport })
  await takeRejected(fs, dir, (events) => resending.send(events.filter(choose)))
  return resending.report
}

interface ResendReport {
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
  readonly maxRetries: number
  readonly clock: Clock
  readonly random: () => number
}

/** Sends rejected events again, batch by batch, as fast as the server allows. */
class Resending {
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
      const capacity = await this.#requestCapacity(events.length - at)
      if (capacity === undefined) break
      const { maxBatchSize, delayBetweenBatches } = capacity
      const batch = events.slice(at, at + Math.min(maxBatchSize, this.#options.maxBatchEvents)).map(toStored)
      await sleep(delayBetweenBatches, this.#options.clock)
      await this.#deliver(batch, delayBetweenBatches, done, reasons)
      at += batch.length
    }
    return { done, reasons }
  }

  /** What the server takes now; undefined if nothing. */
  async #requestCapacity(pending: number): Promise<Capacity | undefined> {
    const answer = await this.#options.transport.capacity(pending, new AbortController().signal)
    if (answer.kind === 'capacity' && answer.capacity.ready) return answer.capacity
    this.#stopped = answer.kind === 'capacity' ? 'the server is not ready' : answer.reason
    return undefined
  }

  async #deliver(
    batch: readonly StoredEvent[],
    delayMs: number,
    done: Set<string>,
    reasons: Map<string, string>,
  ): Promise<void> {
    const { transport, clock, random, maxRetries } = this.#options
    const ports: DeliverPorts = {
      send: (part) => transport.send(part, new AbortController().signal),
      done: async (part, rejections) => {
        for (const { producer, seq } of part) done.add(eventId(producer, seq))
        for (const { event, reason } of rejections) {
          done.delete(eventId(event.producer, event.seq))
          reasons.set(eventId(event.producer, event.seq), reason)
        }
      },
      async pause(retry) {
        await sleep(retryDelayMs(retry, delayMs, random), clock)
        return true
      },
    }
    // What is refused again stays where it is, so there is no limit: events behind it have their turn.
    const outcome = await deliver(batch, ports, { refusalsInRow: 0, maxRefusals: Infinity, maxRetries })
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
