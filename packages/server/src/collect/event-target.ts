import type { IncomingEvent } from 'sluice/capacity'

/** Where a collector puts the events that it accepts. */
export interface EventTarget {
  /** For display: `file events.ndjson`. */
  readonly description: string
  /** Resolves when the events are stored, except those it refuses permanently; rejects when all must be sent again. */
  accept(events: readonly IncomingEvent[]): Promise<{ readonly rejected: ReadonlyMap<string, string> }>
  /** How long a batch waits before it is written. */
  waitingMs(): number
  close(): Promise<void>
}
