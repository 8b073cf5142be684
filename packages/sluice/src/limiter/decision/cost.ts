import { maxUnits } from '../../core/algorithms/limit.ts'
import { SluiceError, show } from '../../core/errors.ts'

/** Lets only whole units through. */
export function checkCost(cost: unknown, what: string): number {
  if (Number.isSafeInteger(cost) && (cost as number) >= 0 && (cost as number) <= maxUnits) return cost as number
  throw new SluiceError(
    'SLUICE_INVALID_COST',
    `${what} is ${show(cost)}; use a whole number of units from 0 to ${maxUnits}`,
  )
}
