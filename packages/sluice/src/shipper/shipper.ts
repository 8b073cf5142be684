import type { ShipperEvents } from './flush/events.ts'
import type { FlushReport } from './flush/flush-run.ts'
import type { ShipperStats } from './stats.ts'

/** What is left at `close`: it is on the disk, and is shipped when the directory is opened again. */
export interface CloseReport {
  readonly pending: number
  readonly bytesOnDisk: number
}

/** Keeps events on disk and drains them to a server, no faster than the server can take them. */
export interface Shipper {
  /** Stores an event; resolves with its id when it is on the disk (see `durability`). */
  ship(event: unknown): Promise<string>
  /**
   * One pass: sends what is pending now, if the server is ready and an attempt is due. It never throws because of the
   * server.
   */
  flush(): Promise<FlushReport>
  stats(): ShipperStats
  on<Name extends keyof ShipperEvents>(name: Name, listener: (event: ShipperEvents[Name]) => void): () => void
  /** Ends after the batch in flight, or after at most `drainMs` of sending what is left. */
  close(options?: { readonly drainMs?: number }): Promise<CloseReport>
}
