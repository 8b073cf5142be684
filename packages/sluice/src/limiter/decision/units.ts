import { maxUnits } from '../../core/algorithms/limit.ts'
import { SluiceError, show } from '../../core/errors.ts'
import type { RuleCharge } from '../../policy/compiled-policy.ts'

/**
 * Units that the caller knows better than the policy. A number is meant for the rules whose cost is estimated, which is
 * read from the request; where no rule estimates, for all of them. An object says it rule by rule.
 */
export type Units<Rule extends string = string> = number | Readonly<Partial<Record<Rule, number>>>

/** Whether a number of units is meant for a charge, given all that the request is charged. */
export function unitsAreFor(charges: readonly RuleCharge[]): (charge: RuleCharge) => boolean {
  const isEstimated = charges.some(({ rule }) => rule.estimatesCost)
  return ({ rule }) => !isEstimated || rule.estimatesCost
}

/**
 * What each charge of a hold really cost. Rules that the units are not for keep what they took; zero gives everything
 * back. `checkRule` refuses names that no rule has.
 */
export function actualCosts(
  actual: Units,
  isFor: (charge: RuleCharge) => boolean,
  checkRule: (name: string) => void,
): (charge: RuleCharge) => number {
  if (typeof actual === 'object' && actual !== null) {
    for (const [rule, units] of Object.entries(actual)) {
      checkRule(rule)
      checkCost(units, `settle: ${rule}`)
    }
    return ({ rule, cost }) => actual[rule.name] ?? cost
  }
  const units = checkCost(actual, 'settle')
  return (charge) => (units === 0 || isFor(charge) ? units : charge.cost)
}

/** Lets only whole units through. */
export function checkCost(cost: unknown, what: string): number {
  if (Number.isSafeInteger(cost) && (cost as number) >= 0 && (cost as number) <= maxUnits) return cost as number
  throw new SluiceError(
    'SLUICE_INVALID_COST',
    `${what} is ${show(cost)}; use a whole number of units from 0 to ${maxUnits}`,
  )
}
