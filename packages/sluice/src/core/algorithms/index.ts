import type { Algorithm } from './algorithm.ts'
import { concurrency } from './concurrency.ts'
import { gcra } from './gcra.ts'
import type { AlgorithmName, LimitAlgorithm } from './limit.ts'
import { slidingLog } from './sliding-log.ts'
import { slidingWindow } from './sliding-window.ts'
import { msOf, window } from './window.ts'

/** The algorithms that a limit can ask for by itself; `all.ts` has those besides that only documents make. */
export const plainAlgorithms: Readonly<Record<AlgorithmName, Algorithm>> = {
  'fixed-window': window,
  'sliding-window': slidingWindow,
  'sliding-log': slidingLog,
  gcra,
  calendar: window,
  concurrency,
}

/** What the share of a class still does while other limits are in force; `share.ts` says what its numbers are. */
export const keptShare: Pick<Algorithm, 'endUs' | 'giveBack'> = {
  giveBack({ n }, i, _limit, units, takenUs) {
    if (n[i]! > 0 && n[i]! <= msOf(takenUs)) n[i + 2] = Math.max(0, n[i + 2]! - units)
  },

  endUs({ n }, i, _limit, now) {
    return n[i]! > 0 ? Math.max(now, (n[i]! + n[i + 1]!) * 1000) : now
  },
}

/** What is asked of limits that are kept aside for another set. Those of a pace are read as windows. */
export const keptAlgorithms: Readonly<Record<LimitAlgorithm, Pick<Algorithm, 'endUs' | 'giveBack'>>> = {
  ...plainAlgorithms,
  pace: window,
  share: keptShare,
}

/** The algorithms' names; the index of one is its code, which Redis scripts and stored states use. */
export const algorithmNames: readonly LimitAlgorithm[] = Object.keys(keptAlgorithms) as LimitAlgorithm[]
