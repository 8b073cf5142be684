import type { IncomingEvent } from 'sluice/capacity'

/** Where a collector puts the events that it takes in. */
export interface EventTarget {
  /** For people: `file events.ndjson`. */
  readonly description: string
  /** Resolves when the events are safe; rejects when they are to be sent again. */
  accept(events: readonly IncomingEvent[]): Promise<void>
  close(): Promise<void>
}
