import { mirrorLastsUs, mostSilenceUs } from './constants.ts'
import { unitOf } from './engine/log.ts'
import type { Grant } from './grant.ts'
import type { BookingRules, RegisteredGrant, ReportStep } from './messages.ts'

const tidyMs = 250

const us = (ms: number): number => Math.ceil(ms * 1000)

/**
 * The grants of this process of which something is still to be reported, and those that it would have to register if
 * shared state were lost.
 */
export class IssuedGrants {
  readonly #kept = new Set<Grant>()
  readonly #open = new Set<Grant>()
  #tidiedMs = -Infinity

  /** How many are not reported to their end. */
  get open(): number {
    return this.#open.size
  }

  add(grant: Grant): void {
    this.#open.add(grant)
    this.#kept.add(grant)
  }

  /** Counts here too, but is reported elsewhere. */
  keep(grant: Grant): void {
    this.#kept.add(grant)
  }

  keeps(grant: Grant): boolean {
    return this.#kept.has(grant)
  }

  /** Nothing was written on it. */
  drop(grant: Grant): void {
    this.#open.delete(grant)
    this.#kept.delete(grant)
  }

  /** The exchange that carried the report failed, so it is reported again. */
  reopen(grant: Grant, step: ReportStep): void {
    grant.isReported = false
    grant.isLate ||= step.late === true
    this.#open.add(grant)
  }

  get kept(): Iterable<Grant> {
    return this.#kept
  }

  /** What can be reported at this moment, at most so many. */
  reports(rules: BookingRules, nowMs: number, most: number): (readonly [Grant, ReportStep])[] {
    const steps: (readonly [Grant, ReportStep])[] = []
    for (const grant of this.#open) {
      if (steps.length === most) break
      const step = this.reportOf(grant, rules, nowMs)
      if (step) steps.push([grant, step])
    }
    return steps
  }

  /**
   * The report of a grant, if there is one to be made now. A call is reported once its arrival is in the past, as then
   * nothing better will be known; and again at its end if its cost may differ from what was expected.
   */
  reportOf(grant: Grant, { limits }: BookingRules, nowMs: number): ReportStep | undefined {
    const countsUnits = limits.some(({ key }) => unitOf(key) !== 'requests')
    const step = reportOf(grant, countsUnits, nowMs)
    if (step === undefined) return undefined
    // What was written late is entered again, and lowered later like any other.
    grant.isReported = !step.late
    grant.isLate = false
    if (step.final) this.#open.delete(grant)
    return step
  }

  /** What a state with another marker does not know; what no period can need any more is forgotten. */
  registered(marker: string, rules: BookingRules, nowMs: number): readonly RegisteredGrant[] {
    this.#forget(rules, nowMs)
    return Array.from(this.#kept)
      .filter((grant) => grant.marker !== marker)
      .map((grant) => ({
        grant: grant.name,
        agoUs: Math.floor((nowMs - grant.receivedMs) * 1000),
        inUs: us(Math.min(grant.arrivesMs, grant.latestMs) - nowMs),
        units: grant.units,
      }))
  }

  /** Forgets what is not needed any more, now and then: there may be very many. */
  tidy(rules: BookingRules, nowMs: number): void {
    if (nowMs < this.#tidiedMs + tidyMs) return
    this.#tidiedMs = nowMs
    this.#forget(rules, nowMs)
  }

  /** Long limits have copies of their logs; those need only what was granted since. */
  #forget({ limits }: BookingRules, nowMs: number): void {
    const short = limits.map(({ periodMs }) => periodMs).filter((ms) => ms * 1000 <= mostSilenceUs)
    const periodMs = Math.max(0, ...short) * 1.001 + 10
    for (const grant of this.#kept) {
      const arrivedMs = Math.min(grant.arrivesMs, grant.latestMs)
      const isRecent = nowMs - grant.receivedMs < mirrorLastsUs / 1000 + 1000
      if (!isRecent && nowMs > arrivedMs + periodMs) this.#kept.delete(grant)
    }
  }
}

function reportOf(grant: Grant, countsUnits: boolean, nowMs: number): ReportStep | undefined {
  const isFinal = grant.isOver || !countsUnits
  const { name, cost } = grant
  if (grant.isLate) {
    const inUs = us(Math.min(grant.arrivesMs, grant.latestMs) - nowMs)
    return { op: 'report', grant: name, inUs, final: false, late: true, units: grant.units }
  }
  const hasArrived = grant.arrivesMs <= nowMs
  if (grant.isReported ? !(countsUnits && grant.isOver) : !hasArrived && !grant.isOver) return undefined
  const inUs = us(Math.min(grant.arrivesMs, grant.latestMs) - nowMs)
  // A call that is over although it may still be on its way counts for as long as it can be.
  const final = isFinal && (hasArrived || grant.isOver)
  return { op: 'report', grant: name, inUs, final, ...(grant.isOver && cost ? { units: cost } : {}) }
}
