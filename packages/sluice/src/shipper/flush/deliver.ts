import { eventId } from '../log/segment/segment-name.ts'
import type { StoredEvent } from '../log/segment/stored-event.ts'
import type { EventResult, SendAnswer } from './answers.ts'

/** An event that the server will never accept. */
export interface Rejection {
  readonly event: StoredEvent
  readonly reason: string
}

export interface DeliverPorts {
  send(events: readonly StoredEvent[]): Promise<SendAnswer>
  /** Makes it durable that these events, the next ones in order, are complete: stored by the server, or set aside. */
  done(events: readonly StoredEvent[], rejections: readonly Rejection[]): Promise<void>
  /** Waits before events are sent again that the server asked to retry. */
  pause(): Promise<void>
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

const acceptsNothing = { kind: 'failed', reason: 'the server rejects every event' } as const

/** After so many refused events in a row the server, or a release of it, is at fault, and not the events. */
const maxRefusalsInRow = 100

/**
 * Sends events in order. A batch that is refused permanently is split in halves, down to the one event that the server
 * does not accept; that one is set aside. A batch that is too large is split too.
 */
export async function deliver(events: readonly StoredEvent[], ports: DeliverPorts): Promise<Delivered> {
  const parts: (readonly StoredEvent[])[] = [events]
  let [sent, duplicates, rejected, refusalsInRow, tooLarge] = [0, 0, 0, 0, false]
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    const answer = await ports.send(part)
    if (answer.kind === 'accepted') {
      const acceptsNone = areAllRejected(part, answer.results)
      const taken = acceptsNone ? part.slice(0, maxRefusalsInRow - refusalsInRow) : part
      const outcome = await settle(taken, answer.results, ports)
      sent += outcome.sent
      duplicates += outcome.duplicates
      rejected += outcome.rejected
      refusalsInRow = acceptsNone ? refusalsInRow + taken.length : 0
      const stopped = taken.length < part.length ? acceptsNothing : outcome.stopped
      if (stopped !== undefined) return { sent, duplicates, rejected, tooLarge, stopped }
    } else if (answer.kind !== 'refused' && answer.kind !== 'too-large') {
      return { sent, duplicates, rejected, tooLarge, stopped: answer }
    } else if (part.length > 1) {
      tooLarge ||= answer.kind === 'too-large'
      const middle = Math.ceil(part.length / 2)
      parts.unshift(part.slice(0, middle), part.slice(middle))
    } else {
      if (++refusalsInRow > maxRefusalsInRow) return { sent, duplicates, rejected, tooLarge, stopped: answer }
      await ports.done(part, [{ event: part[0]!, reason: answer.reason }])
      rejected++
    }
  }
  return { sent, duplicates, rejected, tooLarge }
}

/** Whether the server has answered per event, and rejected each of them. */
function areAllRejected(events: readonly StoredEvent[], results: readonly EventResult[] | undefined): boolean {
  if (results?.[0]?.status !== 'rejected') return false
  const byId = resultsById(results)
  return events.every(({ producer, seq }) => byId.get(eventId(producer, seq))?.status === 'rejected')
}

/** Follows the answers per event; those to retry are sent again, until the server makes no more progress. */
async function settle(
  events: readonly StoredEvent[],
  results: readonly EventResult[] | undefined,
  ports: DeliverPorts,
): Promise<Omit<Delivered, 'tooLarge'>> {
  if (results === undefined) {
    await ports.done(events, [])
    return { sent: events.length, duplicates: 0, rejected: 0 }
  }
  let [sent, duplicates] = [0, 0]
  const rejections: Rejection[] = []
  let [waiting, answers] = [events, results as readonly EventResult[] | undefined]
  let confirmed = 0
  for (;;) {
    const byId = resultsById(answers ?? [])
    const again: StoredEvent[] = []
    for (const event of waiting) {
      const result = byId.get(eventId(event.producer, event.seq))
      const status = answers === undefined ? 'ok' : (result?.status ?? 'retry')
      if (status === 'retry') again.push(event)
      else if (status === 'rejected') rejections.push({ event, reason: result?.reason ?? 'rejected by the server' })
      else if (status === 'duplicate') duplicates++
      else sent++
    }
    // Only what comes before the first event to retry can be recorded: the checkpoint is a single position.
    const upTo = again[0] === undefined ? events.length : events.indexOf(again[0])
    const ready = events.slice(confirmed, upTo)
    const readySet = new Set(ready)
    const aside = rejections.filter(({ event }) => readySet.has(event))
    if (ready.length > 0) await ports.done(ready, aside)
    confirmed = upTo
    const counts = { sent, duplicates, rejected: rejections.length }
    if (again.length === 0) return counts
    if (again.length === waiting.length) {
      return { ...counts, stopped: { kind: 'failed', reason: 'the server wants every event again' } }
    }
    await ports.pause()
    const answer = await ports.send(again)
    if (answer.kind === 'refused' || answer.kind === 'too-large') {
      return { ...counts, stopped: { kind: 'failed', reason: answer.reason } }
    }
    if (answer.kind !== 'accepted') return { ...counts, stopped: answer }
    waiting = again
    answers = answer.results
  }
}

/** An event with two different answers is sent again: whatever the server did with it, that loses nothing. */
function resultsById(results: readonly EventResult[]): ReadonlyMap<string, EventResult> {
  const byId = new Map<string, EventResult>()
  for (const result of results) {
    const former = byId.get(result.id)
    const isClear = former === undefined || former.status === result.status
    byId.set(result.id, isClear ? result : { id: result.id, status: 'retry' })
  }
  return byId
}
