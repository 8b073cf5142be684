import { backoffMs } from '../../core/backoff.ts'
import type { StoredEvent } from '../log/segment/stored-event.ts'
import type { SendAnswer } from './answers.ts'
import { type Done, Verdicts } from './verdicts.ts'

export interface DeliverPorts {
  send(events: readonly StoredEvent[]): Promise<SendAnswer>
  /** Makes it durable that these events are complete: stored by the server, or set aside. */
  readonly done: Done
  /** Waits before the next request, which is the `retry`th for its events; false if no more may be sent. */
  pause(retry: number): Promise<boolean>
}

export interface DeliverLimits {
  /** How many events the server has refused in a row before this batch. */
  readonly refusalsInRow: number
  /** After so many in a row the server, or a release of it, is at fault, and not the events. */
  readonly maxRefusals: number
  /** How often an event is sent again that the server wants again, while it accepts others. */
  readonly maxRetries: number
}

export interface Delivered {
  readonly sent: number
  readonly duplicates: number
  readonly rejected: number
  /** Whether the server reported that a batch was too large. */
  readonly tooLarge: boolean
  /** Why it stopped before all were complete. */
  readonly stopped?: Exclude<SendAnswer, { kind: 'accepted' }>
}

/** How many events a failing server is asked about in one attempt. */
export const probeEvents = 8

interface Part {
  readonly events: readonly StoredEvent[]
  readonly retry: number
}

/**
 * Sends a batch. If it is refused permanently or too large it is split in halves, down to the one event that the server
 * does not accept; that one is set aside, unless the server accepts nothing at all.
 */
export async function deliver(
  events: readonly StoredEvent[],
  ports: DeliverPorts,
  limits: DeliverLimits,
): Promise<Delivered> {
  const { maxRefusals, maxRetries } = limits
  const verdicts = new Verdicts(events, limits.refusalsInRow, maxRefusals)
  const parts: Part[] = [{ events, retry: 0 }]
  let [tooLarge, isFirst] = [false, true]
  const ended = (stopped?: Delivered['stopped']): Delivered =>
    stopped === undefined ? { ...verdicts.counts, tooLarge } : { ...verdicts.counts, tooLarge, stopped }
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    if (!isFirst && !(await ports.pause(part.retry))) return ended()
    isFirst = false
    const answer = await ports.send(part.events)
    if (answer.kind === 'accepted') {
      const again = verdicts.take(part.events, answer.results)
      const isAll = again.length === part.events.length
      if (isAll && !verdicts.hasAccepted && parts.length === 0) {
        return ended({ kind: 'failed', reason: 'the server wants every event again' })
      }
      if (part.retry < maxRetries && again.length > 0) parts.push({ events: again, retry: part.retry + 1 })
      else for (const event of again) verdicts.reject(event, `the server asked for a retry ${maxRetries + 1} times`)
    } else if (answer.kind !== 'refused' && answer.kind !== 'too-large') {
      return ended(answer)
    } else {
      tooLarge ||= answer.kind === 'too-large'
      if (part.events.length > 1) {
        parts.unshift(...halves(part))
        continue
      }
      verdicts.reject(part.events[0]!, answer.reason)
    }
    await verdicts.record(ports.done)
    if (verdicts.held >= probeEvents) break
  }
  if (!verdicts.isFailing) return ended()
  const reason = `the server refused ${maxRefusals} events in a row and accepted none: ${verdicts.lastReason}`
  return ended({ kind: 'failed', reason })
}

function halves({ events, retry }: Part): Part[] {
  const middle = Math.ceil(events.length / 2)
  return [events.slice(0, middle), events.slice(middle)].map((half) => ({ events: half, retry }))
}

/**
 * How long to wait before the next request for a batch. Other parts of it wait as batches do; events that the server
 * wants again wait longer each time.
 */
export function retryDelayMs(retry: number, delayBetweenBatches: number, random: () => number): number {
  if (retry === 0) return delayBetweenBatches
  return Math.max(delayBetweenBatches, backoffMs(retry - 1, random, { baseMs: 100, maxMs: 5000 }))
}
