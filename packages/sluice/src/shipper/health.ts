import { formatDuration } from '../core/duration.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import type { PartHealth } from '../runtime/part.ts'
import { messageOf } from './flush/answers.ts'
import type { ShipperEvents } from './flush/events.ts'
import type { OnFull } from './log/room.ts'
import type { ShipperStats } from './shipper.ts'

const fullTexts: Readonly<Record<OnFull, string>> = {
  wait: 'events wait until there is room',
  refuse: 'events are refused',
  'drop-oldest': 'the oldest events are dropped',
}

/** From when on it is worth a warning that the buffer will be full. */
const soonMs = 3_600_000

const eventsWere = (count: number): string => (count === 1 ? '1 event was' : `${count} events were`)

/** What failed last, and has not worked since. */
export class LastFailures {
  #server: string | undefined
  #disk: string | undefined

  constructor(events: Emitter<ShipperEvents>) {
    events.on('failed', ({ reason }) => {
      this.#server = reason
    })
    events.on('sent', ({ sent, duplicates }) => {
      if (sent + duplicates > 0) this.#server = undefined
    })
    events.on('storageFailed', ({ what, error }) => {
      if (what === 'append') this.#disk = messageOf(error)
    })
    events.on('stored', () => {
      this.#disk = undefined
    })
  }

  health(stats: ShipperStats, onFull: OnFull, isClosed: boolean): PartHealth {
    if (isClosed) return { ready: false, reasons: ['The shipper is closed.'], warnings: [] }
    const reasons: string[] = []
    if (stats.isFull) reasons.push(`The buffer is full; ${fullTexts[onFull]}.`)
    if (this.#disk !== undefined) reasons.push(`The last events could not be stored: ${this.#disk}`)
    return { ready: reasons.length === 0, reasons, warnings: this.#warnings(stats) }
  }

  #warnings({ nextAttemptInMs, rejected, lost, dropped, timeToFullMs }: ShipperStats): string[] {
    const warnings: string[] = []
    if (this.#server !== undefined)
      warnings.push(`The last attempt to send failed: ${this.#server}; next in ${formatDuration(nextAttemptInMs)}.`)
    if (timeToFullMs !== null && timeToFullMs < soonMs)
      warnings.push(`The buffer will be full in ${formatDuration(timeToFullMs)}.`)
    if (rejected > 0) warnings.push(`${eventsWere(rejected)} rejected by the server and set aside.`)
    if (lost + dropped > 0) warnings.push(`${eventsWere(lost + dropped)} lost or dropped.`)
    return warnings
  }
}
