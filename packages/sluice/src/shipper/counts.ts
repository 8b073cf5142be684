import type { Clock } from '../core/clock.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import type { ShipperEvents } from './flush/events.ts'
import { Rate } from './rate.ts'

/** Counts the events of a shipper, and nothing else: so stats and metrics cannot disagree. */
export class Counts {
  readonly all = { stored: 0, sent: 0, duplicates: 0, refused: 0, rejected: 0, lost: 0, dropped: 0 }
  storedBytes = 0
  readonly inRate: Rate
  readonly outRate: Rate

  constructor(events: Emitter<ShipperEvents>, clock: Clock) {
    const { all } = this
    this.inRate = new Rate(clock.monotonic())
    this.outRate = new Rate(clock.monotonic())
    for (const name of ['stored', 'refused', 'lost', 'dropped'] as const)
      events.on(name, ({ events: count }) => {
        all[name] += count
      })
    events.on('stored', ({ events: count, bytes }) => {
      this.storedBytes += bytes
      this.inRate.add(count, clock.monotonic())
    })
    events.on('sent', ({ sent, duplicates, rejected }) => {
      all.sent += sent
      all.duplicates += duplicates
      this.outRate.add(sent + duplicates + rejected, clock.monotonic())
    })
    events.on('rejected', () => {
      all.rejected++
    })
  }
}
