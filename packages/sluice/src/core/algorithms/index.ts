import type { Algorithm } from './algorithm.ts'
import { concurrency } from './concurrency.ts'
import { gcra } from './gcra.ts'
import type { LimitAlgorithm } from './limit.ts'
import { pace } from './pace.ts'
import { share } from './share.ts'
import { slidingLog } from './sliding-log.ts'
import { slidingWindow } from './sliding-window.ts'
import { window } from './window.ts'

/** Every algorithm by its name, in the order of the codes that Redis scripts and stored states use. */
export const algorithms: Readonly<Record<LimitAlgorithm, Algorithm>> = {
  'fixed-window': window,
  'sliding-window': slidingWindow,
  'sliding-log': slidingLog,
  gcra,
  calendar: window,
  concurrency,
  pace,
  share,
}

/** The algorithms' names; the index of one is its code. */
export const algorithmNames: readonly LimitAlgorithm[] = Object.keys(algorithms) as LimitAlgorithm[]
