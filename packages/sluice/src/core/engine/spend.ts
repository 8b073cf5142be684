import type { State } from '../algorithms/state.ts'
import type { ChargeTerms } from './ask.ts'

/** Spends units of every limit of a charge, whether they fit or not. */
export function spend(charge: ChargeTerms, state: State, units: number, now: number): void {
  // Nothing spent must not start a window.
  if (units === 0) return
  const { limits, algorithms, offsets } = charge.limits
  for (let l = 0; l < limits.length; l++) algorithms[l]!.spend(state, state.at + offsets[l]!, limits[l]!, units, now)
}
