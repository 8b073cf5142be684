import type { Algorithm } from '../algorithms/algorithm.ts'
import { algorithms } from '../algorithms/index.ts'
import type { Limit } from '../algorithms/limit.ts'
import { invalidOption } from '../errors.ts'
import { tagOf } from './tag.ts'

/** The limits of one rule for one subject, with the place of each in the subject's state worked out once. */
export interface LimitSet {
  readonly limits: readonly Limit[]
  readonly algorithms: readonly Algorithm[]
  /** Where the fields of each limit start. */
  readonly offsets: readonly number[]
  /** How many numbers of state the whole set needs. */
  readonly fields: number
  /** What each limit counts, in one number that is stored beside its fields (see `tag.ts`). Distinct within a set. */
  readonly tags: readonly number[]
  /** The tags as one text: sets with the same layout can share stored state as it is. */
  readonly layout: string
  /** Whether a limit needs an open hold to count, so that `take` makes no sense. */
  readonly needsHold: boolean
  /** Whether all limits count per window. */
  readonly windows: boolean
  /** Whether it is one calendar limit and its pace. */
  readonly paced: boolean
  /** Whether no limit looks at anything finer than a millisecond. */
  readonly coarse: boolean
}

export const maxLimitsPerRule = 16

const windows: ReadonlySet<string> = new Set(['fixed-window', 'calendar'])

/** Puts limits together that are decided as one. */
export function limitSet(limits: readonly Limit[]): LimitSet {
  if (limits.length > maxLimitsPerRule)
    throw invalidOption('limits', limits, `use at most ${maxLimitsPerRule} limits in a rule`)
  const offsets: number[] = []
  const tags: number[] = []
  let fields = 0
  for (const limit of limits) {
    offsets.push(fields)
    fields += algorithms[limit.algorithm].fields
    tags.push(tagOf(limit, tags))
  }
  return {
    limits,
    algorithms: limits.map((limit) => algorithms[limit.algorithm]),
    offsets,
    fields,
    tags,
    layout: tags.join(),
    needsHold: limits.some((limit) => limit.algorithm === 'concurrency'),
    windows: limits.every(({ algorithm }) => windows.has(algorithm)),
    paced: isPaced(limits),
    coarse: limits.every(
      ({ algorithm }) => windows.has(algorithm) || algorithm === 'sliding-window' || algorithm === 'pace',
    ),
  }
}

function isPaced([first, second, ...more]: readonly Limit[]): boolean {
  if (first?.algorithm !== 'calendar' || second?.algorithm !== 'pace' || more.length > 0) return false
  return first.calendar === second.calendar && first.zone === second.zone
}
