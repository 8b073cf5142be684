import type { Clock } from '../../core/clock.ts'
import { mirrorLastsUs, mostSilenceUs } from './constants.ts'
import { unitOf } from './engine/log.ts'
import type { GrantRecord } from './engine/state.ts'
import { ExchangeLoop, type ExchangeLoopOptions, type PendingStep } from './exchange-loop.ts'
import { Grant, type GrantOwner } from './grant.ts'
import type { InProcessBooking } from './memory-port.ts'
import type { ExchangeReply, StepResult } from './messages.ts'
import type { Booking } from './waiting-call.ts'

type LoopOptions = Omit<ExchangeLoopOptions, 'ended' | 'reports' | 'known'>

export interface BookingSideOptions extends LoopOptions {
  /** The book steps of all calls that wait here. */
  readonly waiting: () => PendingStep[]
  /** The call of a grant is over, or nothing was written on it. */
  readonly onEnd: () => void
}

/** How often grants are forgotten: there may be very many. */
const forgetMs = 250
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
  /** Grants of which something is still to be reported. */
  readonly #open = new Set<Grant>()
  /** Those that would have to be registered if the state were lost. */
  readonly #kept = new Set<Grant>()
  #forgotMs = -Infinity
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
        if (receivedMs >= this.#forgotMs + forgetMs) this.#forget(receivedMs)
        options.onReply(reply, sentMs, receivedMs)
      },
    })
  }

  get inFlight(): number {
    return this.#granted - this.#ended
  }

  /** Whether shared state must hear from this process. */
  get isIdle(): boolean {
    return this.inFlight === 0 && this.#open.size === 0
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
    if (record === undefined) this.#add(grant)
    return grant
  }

  cancelled(grant: Grant): void {
    if (this.inProcess) this.inProcess.settle(grant.record!, undefined, this.#clock.monotonic())
    else {
      this.#open.delete(grant)
      this.#kept.delete(grant)
      this.loop.add({ step: { op: 'back', grant: grant.name }, isKept: true })
    }
    this.#end()
  }

  written(grant: Grant): void {
    if (this.inProcess === undefined) this.#reportSoon()
    else if (grant.isLate || grant.arrivesMs < Infinity) this.answered(grant, this.#clock.monotonic())
  }

  answered(grant: Grant, nowMs: number): void {
    if (this.inProcess) this.inProcess.move(grant.record!, grant.arrivedByMs, nowMs)
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
    for (const grant of other.#kept) this.#kept.add(grant)
  }

  /** Grants of an outage count in shared state once that is back. */
  adopt(other: BookingSide): void {
    for (const grant of other.#kept) {
      if (this.#kept.has(grant)) continue
      grant.reportAgain(true)
      this.#add(grant)
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
      if (this.#open.size > 0) this.loop.exchangeSoon()
    }, waitMs)
    timer.unref?.()
  }

  #add(grant: Grant): void {
    this.#open.add(grant)
    this.#kept.add(grant)
  }

  #reports(most: number, nowMs: number): PendingStep[] {
    const countsUnits = this.#options.rules().limits.some(({ key }) => unitOf(key) !== 'requests')
    const steps: PendingStep[] = []
    for (const grant of this.#open) {
      if (steps.length === most) break
      const step = grant.report(nowMs, countsUnits)
      if (step === undefined) continue
      if (step.final) this.#open.delete(grant)
      // What is sent again states where it arrived from the time it is sent, so it is made anew.
      const settle = (result: StepResult | undefined): void => {
        if (result !== undefined) return
        grant.reportAgain(step.late === true)
        this.#open.add(grant)
      }
      steps.push({ step, settle })
    }
    return steps
  }

  #registration(marker: string, nowMs: number): PendingStep {
    const agoUs = Math.floor((nowMs - this.#mirroredMs) * 1000)
    const mirrors = this.#mirrors.map(({ key, completeUs, entries }) => ({
      ...{ key, completeUs },
      agoUs,
      entries: entries.map(([inUs, units]) => [inUs - agoUs, units] as const),
    }))
    this.#forget(nowMs)
    const grants = Array.from(this.#kept)
      .filter((grant) => grant.marker !== marker)
      .map(({ name, receivedMs, arrivedByMs, units }) => ({
        grant: name,
        agoUs: Math.floor((nowMs - receivedMs) * 1000),
        inUs: Math.ceil((arrivedByMs - nowMs) * 1000),
        units,
      }))
    return { step: { op: 'register', inFlight: this.inFlight, grants, mirrors }, isKept: true }
  }

  /**
   * What no period can need any more. Long limits have copies of their logs; those need only what was granted since.
   */
  #forget(nowMs: number): void {
    this.#forgotMs = nowMs
    const short = this.#options
      .rules()
      .limits.map(({ periodMs }) => periodMs)
      .filter((ms) => ms * 1000 <= mostSilenceUs)
    const periodMs = Math.max(0, ...short) * 1.001 + 10
    for (const grant of this.#kept) {
      const isRecent = nowMs - grant.receivedMs < mirrorLastsUs / 1000 + 1000
      if (!isRecent && nowMs > grant.arrivedByMs + periodMs) this.#kept.delete(grant)
    }
  }
}
