import type { Algorithm } from './algorithm.ts'
import { plainAlgorithms } from './index.ts'
import type { LimitAlgorithm } from './limit.ts'
import { pace } from './pace.ts'
import { share } from './share.ts'

/** Every algorithm by its name. */
export const algorithms: Readonly<Record<LimitAlgorithm, Algorithm>> = { ...plainAlgorithms, pace, share }
