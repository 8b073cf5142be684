import type { CloseOptions, Part, PartHealth } from '../runtime/part.ts'
import type { ShipperEvents } from './flush/events.ts'
import type { FlushReport } from './flush/flush-run.ts'
import type { ShipperStats } from './stats.ts'

/** What is left at `close`: it is on the disk, and is shipped when the directory is opened again. */
export interface CloseReport {
  readonly pending: number
  readonly bytesOnDisk: number
}

/** Keeps events on disk and drains them to a server, no faster than the server can take them. */
export interface Shipper extends Part<ShipperEvents> {
  /** Stores an event; resolves with its id when it is on the disk (see `durability`). */
  ship(event: unknown): Promise<string>
  /**
   * One pass: sends what is pending now, if the server is ready and an attempt is due. It never throws because of the
   * server.
   */
  flush(): Promise<FlushReport>
  stats(): ShipperStats
  /** Ready while events can be stored; a server that fails is a warning, as nothing is lost. */
  health(): Promise<PartHealth>
  /** Ends after the batch in flight, or after sending what is left, if that takes no longer than `within`. */
  close(options?: CloseOptions): Promise<CloseReport>
}
