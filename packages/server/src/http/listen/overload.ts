import type { Decision } from 'sluice'
import { overloaded } from '../problem.ts'

/** The decision, unless the daemon was too busy to make one: that is no denial by a rule. */
export function madeInTime(decision: Decision): Decision {
  if (decision.failure === 'overload') throw overloaded()
  return decision
}
