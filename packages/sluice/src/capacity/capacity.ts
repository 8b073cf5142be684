import type { Clock } from '../core/clock.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import type { CompiledCapacity, CompiledCapacityRow } from '../policy/capacity/compile-capacity.ts'
import { type CloseOptions, closeWithinMs, type Part, type PartHealth } from '../runtime/part.ts'
import type { CapacityEvents } from './events.ts'
import { type Load, LoadMeter, type Signal } from './load/load-meter.ts'
import { AdmissionController } from './shed/admission-controller.ts'
import type { Priority } from './shed/priority.ts'
import { nextRow } from './table.ts'

/** How long a shipper counts after its last request. */
const rememberMs = 30_000
/** More than these are counted as this many: an attacker with random names must not fill the memory. */
const mostSenders = 100_000

/** Longer names count as one shipper. They are not truncated: a substring would keep the whole text in memory. */
const longestName = 200

/** The shippers that requested capacity recently. A row of the table is the total for all of them. */
class Senders {
  /** By name, in the order of their last requests. */
  readonly #requestedMs = new Map<string, number>()

  /** Records a request of a shipper, and returns how many sent one in the last 30 s, itself included. */
  add(given: string, nowMs: number): number {
    const name = given.length <= longestName ? given : 'too long'
    this.#requestedMs.delete(name)
    if (this.#requestedMs.size < mostSenders) this.#requestedMs.set(name, nowMs)
    // One that there was no room for counts too.
    return Math.max(1, this.count(nowMs))
  }

  count(nowMs: number): number {
    for (const [name, requestedMs] of this.#requestedMs) {
      if (nowMs - requestedMs < rememberMs) break
      this.#requestedMs.delete(name)
    }
    return this.#requestedMs.size
  }
}

/** The answer to a shipper's capacity request. */
export interface CapacityAnswer {
  readonly ready: boolean
  readonly maxBatchSize: number
  /** Milliseconds between batches. */
  readonly delayBetweenBatches: number
  /** How many batches may be in flight at a time, each of them after that delay. */
  readonly maxInFlight: number
  /** Seconds until the next request, when not ready. */
  readonly retryAfter: number | null
  /** The smoothed load that the row came from. */
  readonly loadPercent: number
  readonly message: string
}

export interface CapacityStats {
  readonly load: Load
  readonly ready: boolean
  readonly maxBatchSize: number
  readonly delayMs: number
  /** Shippers that sent a request in the last 30 s. */
  readonly senders: number
  readonly inFlight: number
  /** The share of requests that the guard lets through, 0 to 1. */
  readonly admitShare: number
  readonly asked: number
  readonly shed: Readonly<Record<string, number>>
  readonly admitted: Readonly<Record<string, number>>
}

/** What a server can take: measures its load, answers shippers, and sheds load. Made by `createCapacity`. */
export interface Capacity extends Part<CapacityEvents> {
  readonly load: Load
  /** The answer for a shipper that sends a request now. Shippers of the last 30 s share a row of the table. */
  answer(shipper: string): CapacityAnswer
  stats(): CapacityStats
  /** Ready while shippers may send. */
  health(): Promise<PartHealth>
  /** Ends measuring; shippers are told that the server is not ready. Requests in flight are not waited for. */
  close(options?: CloseOptions): Promise<void>
}

/** Longest delay between batches that is sent to a shipper, however many shippers there are. */
const longestDelayMs = 300_000

export interface CapacityParts {
  readonly clock: Clock
  readonly random: () => number
  readonly signals: (inFlight: () => number) => readonly Signal[]
  /** How long the request that is being decided on has waited, in milliseconds. */
  readonly waitedMs: () => number
  readonly table: () => CompiledCapacity
  /** Why the newest policy is not in force. */
  readonly policyError: () => Error | undefined
  readonly events: Emitter<CapacityEvents>
  readonly onClose: () => Promise<void>
}

export class MeasuredCapacity implements Capacity {
  readonly #parts: CapacityParts
  readonly #meter: LoadMeter
  readonly #senders = new Senders()
  readonly controller: AdmissionController
  #row: CompiledCapacityRow | undefined | 'none' = 'none'
  #asked = 0
  #inFlight = 0
  #closing: Promise<void> | undefined

  constructor(parts: CapacityParts) {
    this.#parts = parts
    this.controller = new AdmissionController(parts.random)
    this.#meter = new LoadMeter(
      parts.clock,
      parts.signals(() => this.#inFlight),
      (load) => this.#sampled(load),
    )
  }

  get load(): Load {
    return this.#meter.load
  }

  answer(shipper: string): CapacityAnswer {
    const { clock, events, table } = this.#parts
    const senders = this.#senders.add(shipper, clock.monotonic())
    const row = this.#rowNow()
    this.#asked++
    events.emit('asked', { ready: row !== undefined, senders })
    const { percent, cause } = this.load
    return {
      ready: row !== undefined,
      maxBatchSize: row?.maxBatchSize ?? 0,
      delayBetweenBatches: Math.min(longestDelayMs, (row?.delayMs ?? 0) * senders),
      maxInFlight: row?.maxInFlight ?? 1,
      retryAfter: row === undefined ? Math.ceil(table().retryAfterMs / 1000) : null,
      loadPercent: Math.round(percent * 10) / 10,
      message: cause,
    }
  }

  /** Whether the guard lets a request through. */
  admit(priority: Priority): boolean {
    return this.controller.admit(priority, this.#parts.waitedMs(), this.#parts.clock.monotonic())
  }

  /** A request of the guard has begun. */
  began(): void {
    this.#inFlight++
  }

  ended(): void {
    this.#inFlight--
  }

  emit<Name extends keyof CapacityEvents>(name: Name, event: CapacityEvents[Name]): void {
    this.#parts.events.emit(name, event)
  }

  stats(): CapacityStats {
    const row = this.#rowNow()
    const { shed, admitted, share } = this.controller
    return {
      load: this.load,
      ready: row !== undefined,
      maxBatchSize: row?.maxBatchSize ?? 0,
      delayMs: row?.delayMs ?? 0,
      senders: this.#senders.count(this.#parts.clock.monotonic()),
      inFlight: this.#inFlight,
      admitShare: share,
      asked: this.#asked,
      shed: Object.fromEntries(shed),
      admitted: Object.fromEntries(admitted),
    }
  }

  on<Name extends keyof CapacityEvents>(name: Name, listener: (event: CapacityEvents[Name]) => void): () => void {
    return this.#parts.events.on(name, listener)
  }

  async health(): Promise<PartHealth> {
    if (this.#closing !== undefined) return { ready: false, reasons: ['The capacity is closed.'], warnings: [] }
    const { percent, cause } = this.load
    const load = `The load is ${Math.round(percent)}% (${cause})`
    const share = Math.round(this.controller.share * 100)
    const error = this.#parts.policyError()
    const isReady = this.#rowNow() !== undefined
    return {
      ready: isReady,
      reasons: isReady ? [] : [`${load}; shippers are told to wait.`],
      warnings: [
        ...(share < 100 ? [`${load}; ${share}% of the requests are let through.`] : []),
        ...(error === undefined ? [] : [`A newer policy is refused or out of reach: ${error.message}`]),
      ],
    }
  }

  async close(options: CloseOptions = {}): Promise<void> {
    closeWithinMs('capacity.close', options)
    this.#meter.stop()
    this.#closing ??= this.#parts.onClose()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #sampled(load: Load): void {
    this.controller.adjust(load.rawPercent)
    this.#rowNow()
    this.#parts.events.emit('measured', load)
  }

  #rowNow(): CompiledCapacityRow | undefined {
    if (this.#closing !== undefined) return undefined
    const before = this.#row
    const row = nextRow(this.#parts.table(), this.load.percent, before)
    this.#row = row
    if (before === 'none' || row?.below === before?.below) return row
    const event = row && { maxBatchSize: row.maxBatchSize, delayMs: row.delayMs, loadPercent: this.load.percent }
    this.#parts.events.emit('rowChanged', event)
    return row
  }
}
