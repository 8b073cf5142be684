import type { CalendarUnit } from './calendar-period.ts'

/** The algorithms a limit can use. Each file under `algorithms/` states what it admits at most. */
export type AlgorithmName = 'fixed-window' | 'sliding-window' | 'sliding-log' | 'gcra' | 'calendar' | 'concurrency'

/**
 * The algorithms of limits that are decided on: a paced limit is a `calendar` limit and one with `pace` beside it, one
 * that classes share a window and the `share` of a class beside it.
 */
export type LimitAlgorithm = AlgorithmName | 'pace' | 'share'

/**
 * How a calendar limit is spread over its period. A position on the curve is the part of the amount that is planned
 * until an instant, as a whole number from 0 to `curveEnd` of `pace-curve.ts`. It does not depend on the amount, so
 * that a changed amount changes the plan and not the position.
 */
export interface Pace {
  /** By the hour of the day in the zone of the limit; undefined for an even curve. */
  readonly weights: readonly number[] | undefined
  /** How far on the curve one unit reaches at the highest rate: the planned one times `catchUp`. */
  readonly interval: number
  readonly catchUp: number
}

/**
 * An amount per period by an algorithm, ready to be decided on. Only `readLimits` in `policy/` makes them.
 * All algorithms share one shape, so that the engine reads every limit through the same hidden class.
 */
export interface Limit {
  readonly name: string
  readonly algorithm: LimitAlgorithm
  readonly amount: number
  /** Length of the period; 0 for `concurrency`, the longest possible one for `calendar`. */
  readonly periodMs: number
  /** `gcra` and `pace`: how many units may pass at once. Elsewhere the amount. */
  readonly burst: number
  /** `gcra`: microseconds per unit, rounded up. Elsewhere 0. */
  readonly intervalUs: number
  /** `fixed-window`: windows start at multiples of the period instead of at the first hit. */
  readonly aligned: boolean
  /** `calendar` and `pace`: which periods. */
  readonly calendar: CalendarUnit | undefined
  /** `calendar` and `pace`: an IANA zone. */
  readonly zone: string | undefined
  /** `pace`: along which curve. */
  readonly pace: Pace | undefined
  /** `share`: of which class, and how many units it is guaranteed in each window. */
  readonly share: { readonly class: string; readonly guaranteed: number } | undefined
}

/** How long calendar periods are in the usual case; a month is given as its longest. */
const usualMs = { day: 86_400_000, week: 604_800_000, month: 31 * 86_400_000 }

/** The length of the period for people and clients: a day has 24 hours, although one a year has 25. */
export function windowMsOf({ calendar, periodMs }: Limit): number {
  return calendar === undefined ? periodMs : usualMs[calendar]
}

/** Largest amount, burst and cost, in units: every sum in the engine stays an exact integer. */
export const maxUnits = 1e13
/** Longest period: 400 days. */
export const maxPeriodMs: number = 400 * 86_400_000
/** Most holds a `concurrency` limit may have, because each is an entry of its own. */
export const maxConcurrency = 10_000
