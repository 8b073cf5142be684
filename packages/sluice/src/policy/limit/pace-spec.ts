import type { Limit } from '../../core/algorithms/limit.ts'
import { intervalOf, minuteOfPlan } from '../../core/algorithms/pace-curve.ts'
import type { LimitSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'

const defaultCatchUp = 1.5

/** A limit, and beside it the one that spreads it over its period, if it is to be paced. */
export function withPace(
  limit: Limit | undefined,
  { pace }: LimitSpec,
  path: string,
  report: Report,
): readonly Limit[] {
  if (limit === undefined) return []
  if (pace === undefined) return [limit]
  const { amount, calendar } = limit
  if (calendar === undefined) {
    report(`${path}.pace`, pace, 'only calendar limits can be paced: write per: day, week or month')
    return []
  }
  const { curve = 'even', catchUp = defaultCatchUp } = pace
  const weights = curve === 'even' ? undefined : curve
  if (weights?.every((weight) => weight === 0)) {
    report(`${path}.pace.curve`, curve, 'give at least one hour a weight above 0')
    return []
  }
  const burst = Math.min(pace.burst ?? minuteOfPlan(amount, calendar, weights), Math.max(1, amount))
  const spread = { weights, catchUp, interval: intervalOf(amount, catchUp) }
  return [limit, { ...limit, name: `${limit.name}-pace`, algorithm: 'pace', burst, pace: spread }]
}
