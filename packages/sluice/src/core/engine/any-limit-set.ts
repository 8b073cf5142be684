import { algorithms } from '../algorithms/all.ts'
import type { Limit } from '../algorithms/limit.ts'
import type { BlockTerms } from './block.ts'
import { type FixedLimits, type LimitKinds, type LimitSet, makeLimitSet } from './limit-set.ts'
import { takePaced } from './take-paced.ts'

const allKinds: LimitKinds = { algorithms, takePaced }

/** Puts limits of any kind together that are decided as one. */
export function limitSet(limits: readonly Limit[], fixed?: FixedLimits, block?: BlockTerms): LimitSet {
  return makeLimitSet(allKinds, limits, fixed, block)
}

/** The two sets without limits. */
export const fixedLimits: Readonly<Record<FixedLimits, LimitSet>> = {
  unlimited: limitSet([], 'unlimited'),
  deny: limitSet([], 'deny'),
}
