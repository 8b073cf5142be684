import type { IncomingEvent } from 'sluice/capacity'

/** Where a collector puts the events that it takes in. */
export interface EventTarget {
  /** For people: `file events.ndjson`. */
  readonly description: string
  /** Resolves when the events are safe, but for those it refuses for good; rejects when all are to be sent again. */
  accept(events: readonly IncomingEvent[]): Promise<{ readonly rejected: ReadonlyMap<string, string> }>
  /** How long a batch waits before its turn comes. */
  waitingMs(): number
  close(): Promise<void>
}
