import { holdUs, writeByMs } from './constants.ts'
import type { GrantRecord } from './engine/state.ts'
import type { ReportStep, Units } from './messages.ts'

/** Receives the reports of a grant. */
export interface GrantOwner {
  cancelled(grant: Grant): void
  written(grant: Grant): void
  answered(grant: Grant, nowMs: number): void
  done(grant: Grant): void
}

/** What a grant begins with. */
export interface GrantAbout {
  /** The state that granted it, and its number there. */
  readonly marker: string
  readonly number: number
  /** In a state of this process, its record there. */
  readonly record: GrantRecord | undefined
  readonly booking: { readonly units: Units; readonly arrivedMs: number; readonly arrivalMs?: number | undefined }
  /** How long a call counts of which only the response proves that it arrived. */
  readonly timeoutMs: number
  /** When it was requested and received. */
  readonly sentMs: number
  readonly receivedMs: number
}

/**
 * Permission to send one call, and what is known about when that call arrived, in times of the monotonic clock. It is
 * either cancelled, with nothing written, or finished.
 */
export class Grant {
  readonly marker: string
  readonly number: number
  readonly record: GrantRecord | undefined
  readonly units: Units
  readonly waitedMs: number
  /** The request may begin to be written until this moment; later, cancel and book again. */
  readonly writeByMs: number
  readonly receivedMs: number
  /** Shared state counts it until this at least, before anything is reported. */
  readonly countedUntilMs: number
  /** By when the call has surely arrived; Infinity while only its response can tell. */
  arrivesMs: number = Infinity
  /** By when it has arrived at the latest, whatever happens. */
  #latestMs: number
  #isLate = false
  #isReported = false
  /** What it actually cost, once that is known. */
  cost: Units | undefined
  readonly #owner: GrantOwner
  readonly #timeoutMs: number
  #state: 'held' | 'answered' | 'over' = 'held'

  constructor(owner: GrantOwner, about: GrantAbout) {
    const { booking, timeoutMs, sentMs, receivedMs } = about
    const worstMs = holdUs / 1000 + (booking.arrivalMs ?? timeoutMs)
    this.#owner = owner
    this.#timeoutMs = timeoutMs
    this.marker = about.marker
    this.number = about.number
    this.record = about.record
    this.units = booking.units
    this.waitedMs = receivedMs - booking.arrivedMs
    this.writeByMs = sentMs + writeByMs
    this.receivedMs = receivedMs
    this.countedUntilMs = sentMs + worstMs
    this.#latestMs = receivedMs + worstMs
  }

  /** Its name in shared state. */
  get name(): string {
    return `${this.marker}.${this.number}`
  }

  /** It was written later than its grant allowed for. */
  get isLate(): boolean {
    return this.#isLate
  }

  /** By when the call has arrived, as far as that is known. */
  get arrivedByMs(): number {
    return Math.min(this.arrivesMs, this.#latestMs)
  }

  /** Nothing was written, for certain. */
  cancel(): void {
    if (this.#state !== 'held') return
    this.#state = 'over'
    this.#owner.cancelled(this)
  }

  /**
   * The last byte of head and body was handed to the kernel at `atMs` of the monotonic clock. It arrives within
   * `arrivalMs`; undefined if only the response proves that it arrived.
   */
  written(atMs: number, arrivalMs: number | undefined): void {
    if (this.#state === 'over') return
    const latestMs = atMs + (arrivalMs ?? this.#timeoutMs)
    if (latestMs > this.countedUntilMs) {
      this.#isLate = true
      this.#latestMs = latestMs
    }
    if (arrivalMs !== undefined && latestMs < this.arrivesMs) this.arrivesMs = latestMs
    this.#owner.written(this)
  }

  /** The final response began, or the peer closed the connection: the request arrived before `nowMs`. */
  answer(nowMs: number): void {
    if (this.#state !== 'held') return
    this.#state = 'answered'
    if (nowMs < this.arrivesMs) this.arrivesMs = nowMs
    this.#owner.answered(this, nowMs)
  }

  /** The call is over; `units` are what it actually cost. */
  finish(units?: Units): void {
    if (this.#state === 'over') return
    this.#state = 'over'
    this.cost = units
    this.#owner.done(this)
  }

  /**
   * What is to be reported now, if anything. A call is reported once its arrival is in the past, as then nothing better
   * will be known; and again at its end if its cost may differ from what was expected.
   */
  report(nowMs: number, countsUnits: boolean): ReportStep | undefined {
    const isOver = this.#state === 'over'
    const about = { op: 'report', grant: this.name, inUs: Math.ceil((this.arrivedByMs - nowMs) * 1000) } as const
    if (this.#isLate) {
      // It is entered again, and lowered later like any other.
      this.#isLate = false
      this.#isReported = false
      return { ...about, final: false, late: true, units: this.units }
    }
    const isDue = this.#isReported ? countsUnits && isOver : isOver || this.arrivesMs <= nowMs
    if (!isDue) return undefined
    this.#isReported = true
    // A call that is over although it may still be on its way counts for as long as it can be.
    return { ...about, final: isOver || !countsUnits, ...(isOver && this.cost ? { units: this.cost } : {}) }
  }

  /** A report was not received. */
  reportAgain(isLate: boolean): void {
    this.#isReported = false
    this.#isLate ||= isLate
  }
}
