import { Rate } from '../shipper/rate.ts'

/** What a run counts. */
export class Counts {
  read = 0
  written = 0
  dropped = 0
  rejected = 0
  lost = 0
  batches = 0
  failures = 0
  buffered = 0
  mostBuffered = 0
  readonly #rate: Rate

  constructor(nowMs: number) {
    this.#rate = new Rate(nowMs)
  }

  /** So many more records are in memory, or fewer. */
  buffer(records: number): void {
    this.buffered += records
    this.mostBuffered = Math.max(this.mostBuffered, this.buffered)
  }

  wrote(records: number, nowMs: number): void {
    this.written += records
    this.batches += 1
    this.#rate.add(records, nowMs)
  }

  perSecond(nowMs: number): number {
    return this.#rate.perSecond(nowMs)
  }
}
