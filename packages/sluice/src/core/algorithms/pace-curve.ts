import { type CalendarUnit, calendarPeriod, offsetMs, type Period } from './calendar-period.ts'
import type { Limit, Pace } from './limit.ts'

/**
 * A power of two, so that dividing by it is exact. With amounts of up to 10^13 one unit still reaches over a hundred
 * positions.
 */
export const curveEnd: number = 2 ** 50

/** A stretch of a period with one planned rate. */
export interface Segment extends Omit<Period, 'dates'> {
  /** Positions at the start and at the end. */
  readonly from: number
  readonly to: number
  readonly period: Period
}

/** The interval of an amount. */
export function intervalOf(amount: number, catchUp: number): number {
  return amount === 0 ? curveEnd : Math.ceil(curveEnd / (amount * catchUp))
}

interface Curve {
  readonly period: Period
  readonly segments: readonly Segment[]
  latest: Segment
}

/** The latest curve of each limit. */
const curves = new WeakMap<Pace, Curve>()

/** The segment of a limit's curve that contains an instant. */
export function segmentAt(limit: Limit, atMs: number): Segment {
  const curve = curveAt(limit, atMs)
  const { latest } = curve
  if (atMs >= latest.startMs && atMs < latest.endMs) return latest
  curve.latest = curve.segments.find(({ endMs }) => atMs < endMs)!
  return curve.latest
}

/**
 * The position on the curve at an instant of a segment. `lua/limits.lua` computes it in the same order of operations.
 */
export function positionAt({ startMs, endMs, from, to }: Segment, atMs: number): number {
  return from + Math.floor(((atMs - startMs) / (endMs - startMs)) * (to - from))
}

/** The units planned until a position. */
export function plannedAt(limit: Limit, position: number): number {
  return Math.floor(limit.amount * (position / curveEnd))
}

/** About when a position is reached in the period of an instant; its end when it never is. */
export function timeOf(limit: Limit, position: number, atMs: number): number {
  const { segments, period } = curveAt(limit, atMs)
  const segment = segments.find(({ to }) => to >= position)
  if (segment === undefined) return period.endMs
  const { startMs, endMs, from, to } = segment
  if (position <= from) return startMs
  return Math.min(endMs, startMs + Math.ceil(((position - from) / (to - from)) * (endMs - startMs)))
}

function curveAt(limit: Limit, atMs: number): Curve {
  const pace = limit.pace!
  const known = curves.get(pace)
  if (known !== undefined && atMs >= known.period.startMs && atMs < known.period.endMs) return known
  const period = calendarPeriod(limit.calendar!, limit.zone!, atMs)
  const segments = pace.weights ? hourly(pace.weights, limit.zone!, period) : even(period)
  const made = { period, segments, latest: segments[0]! }
  curves.set(pace, made)
  return made
}

function even(period: Period): Segment[] {
  return [{ ...period, from: 0, to: curveEnd, period }]
}

// An hour that a change of the clock skips has no part in the day, and one that comes twice has two: the amount is
// spread over the hours that there are.
function hourly(weights: readonly number[], zone: string, period: Period): Segment[] {
  const hours: { readonly startMs: number; readonly endMs: number; readonly weight: number }[] = []
  let total = 0
  for (let startMs = period.startMs; startMs < period.endMs; ) {
    const localMs = startMs + offsetMs(zone, startMs)
    const fullMs = Math.min(period.endMs, startMs + hourMs - (((localMs % hourMs) + hourMs) % hourMs))
    const endMs = offsetEnd(zone, startMs, fullMs)
    const weight = weights[Math.floor((((localMs % dayMs) + dayMs) % dayMs) / hourMs)]! * (endMs - startMs)
    hours.push({ startMs, endMs, weight })
    total += weight
    startMs = endMs
  }
  let sum = 0
  return hours.map(({ startMs, endMs, weight }, h) => {
    // Where all the hours that there are have no weight, the last one gets everything.
    const from = total === 0 ? 0 : Math.floor((sum / total) * curveEnd)
    sum += weight
    const to = h === hours.length - 1 ? curveEnd : total === 0 ? 0 : Math.floor((sum / total) * curveEnd)
    return { startMs, endMs, from, to, period }
  })
}

/** When the clock changes between two instants; the later one when it does not. Some zones change within an hour. */
function offsetEnd(zone: string, startMs: number, endMs: number): number {
  const before = offsetMs(zone, startMs)
  if (offsetMs(zone, endMs) === before) return endMs
  let [from, to] = [startMs, endMs]
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2)
    if (offsetMs(zone, middle) === before) from = middle
    else to = middle
  }
  return to
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const minutesPer: Readonly<Record<CalendarUnit, number>> = { day: 1440, week: 7 * 1440, month: 30 * 1440 }

/** One minute of the plan, in the busiest hour, in whole units. */
export function minuteOfPlan(amount: number, unit: CalendarUnit, weights: readonly number[] | undefined): number {
  const busiest =
    weights === undefined ? 1 : (Math.max(...weights) * 24) / weights.reduce((sum, weight) => sum + weight)
  return Math.max(1, Math.min(amount, Math.ceil((amount / minutesPer[unit]) * busiest)))
}
