import type { Algorithm } from '../algorithms/algorithm.ts'
import { plainAlgorithms } from '../algorithms/index.ts'
import type { Limit, LimitAlgorithm } from '../algorithms/limit.ts'
import type { State } from '../algorithms/state.ts'
import { invalidOption } from '../errors.ts'
import type { Answer } from './answer.ts'
import type { BlockTerms } from './block.ts'
import { tagOf } from './tag.ts'

/** The limits of one rule for one subject, with the offset of each in the subject's state worked out once. */
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
  /** When a subject is blocked. */
  readonly block: BlockTerms | undefined
  /** The same limits for what waits for its turn: to be denied meanwhile counts for no block. */
  readonly waiting: LimitSet | undefined
  /** Whether a limit is shared by classes, so that a denial may have to be written down. */
  readonly shared: boolean
  /** Whether a take without a hold is no more than spending what fits. */
  readonly plain: boolean
  /** Whether all limits count per window, and nothing else is to be looked at. */
  readonly windows: boolean
  /** Whether it is one calendar limit and its pace. */
  readonly paced: boolean
  /** `take` of one subject of such a set. */
  readonly takePaced: LimitKinds['takePaced']
  /** Whether no limit looks at anything finer than a millisecond. */
  readonly coarse: boolean
  /** What is decided without counting: such a set never reaches a store. */
  readonly fixed: FixedLimits | undefined
}

/** Terms as far as a status of their limits needs them. */
export interface PacedTerms {
  readonly rule: { readonly name: string }
  readonly limits: LimitSet
  readonly cost: number
}

/** The kinds of limits that a set can be made of: `any-limit-set.ts` has all. */
export interface LimitKinds {
  readonly algorithms: Readonly<Partial<Record<LimitAlgorithm, Algorithm>>>
  readonly takePaced: ((terms: PacedTerms, state: State, copies: number, now: number) => Answer) | undefined
}

/** Those that code without a document can ask for. */
export const plainKinds: LimitKinds = { algorithms: plainAlgorithms, takePaced: undefined }

/** Limits that need no counter: nothing is denied, or everything is. */
export type FixedLimits = 'unlimited' | 'deny'

export const maxLimitsPerRule = 16

const windows: ReadonlySet<string> = new Set(['fixed-window', 'calendar'])
const coarse: ReadonlySet<string> = new Set([...windows, 'sliding-window', 'pace', 'share'])

/** Puts limits together that are decided as one. */
export function makeLimitSet(
  kinds: LimitKinds,
  limits: readonly Limit[],
  fixed?: FixedLimits,
  block?: BlockTerms,
): LimitSet {
  if (limits.length > maxLimitsPerRule)
    throw invalidOption('limits', limits, `use at most ${maxLimitsPerRule} limits in a rule`)
  const offsets: number[] = []
  const tags: number[] = []
  const algorithms = limits.map(({ algorithm }) => kinds.algorithms[algorithm]!)
  let fields = 0
  for (const [l, limit] of limits.entries()) {
    offsets.push(fields)
    fields += algorithms[l]!.fields
    tags.push(tagOf(limit, tags))
  }
  const needsHold = limits.some((limit) => limit.algorithm === 'concurrency')
  const shared = limits.some((limit) => limit.share !== undefined)
  return {
    limits,
    algorithms,
    offsets,
    fields,
    tags,
    layout: tags.join(),
    needsHold,
    block,
    waiting: block?.counts === 'denials' ? makeLimitSet(kinds, limits, fixed) : undefined,
    shared,
    plain: !needsHold && block === undefined && !shared,
    windows: block === undefined && limits.every(({ algorithm }) => windows.has(algorithm)),
    paced: block === undefined && isPaced(limits),
    takePaced: kinds.takePaced,
    coarse: limits.every(({ algorithm }) => coarse.has(algorithm)),
    fixed,
  }
}

function isPaced([first, second, ...more]: readonly Limit[]): boolean {
  if (first?.algorithm !== 'calendar' || second?.algorithm !== 'pace' || more.length > 0) return false
  return first.calendar === second.calendar && first.zone === second.zone
}
