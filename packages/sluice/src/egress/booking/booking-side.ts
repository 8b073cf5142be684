import type { Clock } from '../../core/clock.ts'
import type { Booking } from './booker.ts'
import type { GrantRecord } from './engine/state.ts'
import { ExchangeLoop, type ExchangeLoopOptions, type PendingStep } from './exchange-loop.ts'
import { Grant, type GrantOwner } from './grant.ts'
import { IssuedGrants } from './issued-grants.ts'
import type { InProcessBooking } from './memory-port.ts'
import type { ExchangeReply, ReportStep } from './messages.ts'

type LoopOptions = Omit<ExchangeLoopOptions, 'ended' | 'reports' | 'known'>

export interface BookingSideOptions extends LoopOptions {
  /** The book steps of all calls that wait here. */
  readonly waiting: () => PendingStep[]
  /** The call of a grant is over, or nothing was written on it. */
  readonly onEnd: () => void
}

/** The longest that a report waits for an exchange to ride along with. */
const reportMs = 250

/**
 * A state that grants calls of this process, and what is known of those: the shared state, or that of an outage. It
 * copies the logs of long limits, in case the state is lost.
 */
export class BookingSide implements GrantOwner {
  readonly loop: ExchangeLoop
  /** Where the state is in this process, it knows of each report at once and is never lost. */
  readonly inProcess: InProcessBooking | undefined
  readonly #issued = new IssuedGrants()
  readonly #options: BookingSideOptions
  readonly #clock: Clock
  #mirrors: ExchangeReply['mirrors'] = []
  #mirroredMs = 0
  /** How many calls are over, and how many were granted. */
  #ended = 0
  #granted = 0
  #isReportArmed = false

  constructor(options: BookingSideOptions) {
    this.#options = options
    this.#clock = options.clock
    this.inProcess = 'inProcess' in options.port ? options.port.inProcess(options.state, options.owner) : undefined
    this.loop = new ExchangeLoop({
      ...options,
      ended: () => this.#ended,
      reports: (most, nowMs) => this.#reports(most, nowMs),
      known: (marker, nowMs) => [this.#registration(marker, nowMs), ...options.waiting()],
      onReply: (reply, sentMs, receivedMs) => {
        if (reply.mirrors.length > 0) {
          this.#mirrors = reply.mirrors
          this.#mirroredMs = receivedMs
        }
        this.#issued.tidy(options.rules(), receivedMs)
        options.onReply(reply, sentMs, receivedMs)
      },
    })
  }

  get inFlight(): number {
    return this.#granted - this.#ended
  }

  /** Whether shared state must hear from this process. */
  get isIdle(): boolean {
    return this.inFlight === 0 && this.#issued.open === 0
  }

  /** A grant of an exchange that was sent and answered at these times. */
  received(number: number, booking: Booking | undefined, sentMs: number, receivedMs: number): Grant {
    const record = this.inProcess?.received(`${this.loop.marker}.${number}`)
    return this.issue(number, record, booking ?? { units: {}, arrivedMs: sentMs }, sentMs, receivedMs)
  }

  issue(
    number: number,
    record: GrantRecord | undefined,
    booking: Pick<Booking, 'units' | 'arrivedMs' | 'arrivalMs'>,
    sentMs: number,
    receivedMs: number,
  ): Grant {
    const { timeoutMs } = this.#options.rules()
    const { marker } = this.loop
    const grant = new Grant(this, { marker, number, record, booking, timeoutMs, sentMs, receivedMs })
    this.#granted += 1
    if (record === undefined) this.#issued.add(grant)
    return grant
  }

  cancelled(grant: Grant): void {
    if (this.inProcess) this.inProcess.settle(grant.record!, undefined, this.#clock.monotonic())
    else {
      this.#issued.drop(grant)
      this.loop.add({ step: { op: 'back', grant: grant.name }, isKept: true })
    }
    this.#end()
  }

  written(grant: Grant): void {
    if (this.inProcess === undefined) this.#reportSoon()
    else if (grant.isLate || grant.arrivesMs < Infinity) this.answered(grant, this.#clock.monotonic())
  }

  answered(grant: Grant, nowMs: number): void {
    if (this.inProcess) this.inProcess.move(grant.record!, Math.min(grant.arrivesMs, grant.latestMs), nowMs)
    else this.#reportSoon()
  }

  done(grant: Grant): void {
    if (this.inProcess === undefined) this.#reportSoon()
    else if (grant.cost) this.inProcess.settle(grant.record!, grant.cost, this.#clock.monotonic())
    this.#end()
  }

  #end(): void {
    this.#ended += 1
    this.inProcess?.ended(this.#ended)
    this.#options.onEnd()
  }

  /** What shared state granted just before an outage counts in its share; it is reported there. */
  inherit(other: BookingSide): void {
    for (const grant of other.#issued.kept) this.#issued.keep(grant)
  }

  /** Grants of an outage count in shared state once that is back. */
  adopt(other: BookingSide): void {
    for (const grant of other.#issued.kept) {
      if (this.#issued.keeps(grant)) continue
      grant.isLate = true
      this.#issued.add(grant)
    }
  }

  /** Reports ride along with the next exchange, or go by themselves after a while. */
  #reportSoon(): void {
    if (this.#isReportArmed) return
    this.#isReportArmed = true
    const { limits } = this.#options.rules()
    const waitMs = Math.min(reportMs, ...limits.map(({ periodMs }) => (periodMs > 0 ? periodMs / 4 : reportMs)))
    const timer = this.#clock.setTimeout(() => {
      this.#isReportArmed = false
      if (this.#issued.open > 0) this.loop.exchangeSoon()
    }, waitMs)
    timer.unref?.()
  }

  #reports(most: number, nowMs: number): PendingStep[] {
    return this.#issued.reports(this.#options.rules(), nowMs, most).map(([grant, step]) => ({
      step,
      // What is sent again states where it arrived from the time it is sent, so it is made anew.
      settle: (result) => {
        if (result === undefined) this.#issued.reopen(grant, step as ReportStep)
      },
    }))
  }

  #registration(marker: string, nowMs: number): PendingStep {
    const agoUs = Math.floor((nowMs - this.#mirroredMs) * 1000)
    const mirrors = this.#mirrors.map(({ key, completeUs, entries }) => ({
      ...{ key, completeUs },
      agoUs,
      entries: entries.map(([inUs, units]) => [inUs - agoUs, units] as const),
    }))
    const grants = this.#issued.registered(marker, this.#options.rules(), nowMs)
    return { step: { op: 'register', inFlight: this.inFlight, grants, mirrors }, isKept: true }
  }
}
