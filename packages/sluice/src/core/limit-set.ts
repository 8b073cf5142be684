import type { Algorithm } from './algorithms/algorithm.ts'
import { algorithmNames, algorithms } from './algorithms/index.ts'
import { invalidOption } from './errors.ts'
import type { Limit } from './limit.ts'

/** The limits of one rule for one subject, with the place of each in the subject's state worked out once. */
export interface LimitSet {
  readonly limits: readonly Limit[]
  readonly algorithms: readonly Algorithm[]
  /** Where the fields of each limit start. */
  readonly offsets: readonly number[]
  /** How many numbers of state the whole set needs. */
  readonly fields: number
  /**
   * What each limit is, in one small number that is stored beside its fields: when a policy adds, drops or reorders limits, those that
   * stay are found again and their usage carries over. Distinct within a set. The amount is not part of it.
   */
  readonly tags: readonly number[]
  /** Exactly what each limit counts, amounts aside. */
  readonly identities: readonly string[]
  /** The identities as one text: sets with the same layout can share stored state as it is. */
  readonly layout: string
  /** Whether a limit needs an open hold to count, so that `take` makes no sense. */
  readonly needsHold: boolean
}

export const maxLimitsPerRule = 16

const wellKnown = [1000, 60_000, 3_600_000, 86_400_000]

/** Puts limits together that are decided as one. */
export function limitSet(limits: readonly Limit[]): LimitSet {
  if (limits.length > maxLimitsPerRule) throw invalidOption('limits', limits, `use at most ${maxLimitsPerRule} limits in a rule`)
  const offsets: number[] = []
  const tags: number[] = []
  let fields = 0
  for (const limit of limits) {
    offsets.push(fields)
    fields += algorithms[limit.algorithm].fields
    tags.push(tagOf(limit, tags))
  }
  const identities = limits.map(identityOf)
  return {
    limits,
    algorithms: limits.map((limit) => algorithms[limit.algorithm]),
    offsets,
    fields,
    tags,
    identities,
    layout: identities.join(),
    needsHold: limits.some((limit) => limit.algorithm === 'concurrency'),
  }
}

// Sixteen tags per algorithm: four for the usual periods, the rest by a hash of the period, moved on where two in a set would meet.
function tagOf(limit: Limit, taken: readonly number[]): number {
  const first = algorithmNames.indexOf(limit.algorithm) * 16
  let tag = first + periodClass(limit)
  while (taken.includes(tag)) tag = first + ((tag + 1) % 16)
  return tag
}

function periodClass(limit: Limit): number {
  const known = wellKnown.indexOf(limit.periodMs)
  if (limit.algorithm !== 'calendar' && known >= 0) return known
  let hash = 7
  for (const c of identityOf(limit)) hash = (hash * 31 + c.charCodeAt(0)) % 65_521
  return 4 + (hash % 12)
}

function identityOf({ algorithm, periodMs, aligned, calendar, zone }: Limit): string {
  if (algorithm === 'calendar') return `${algorithm} ${calendar} ${zone}`
  return aligned ? `${algorithm} ${periodMs} aligned` : `${algorithm} ${periodMs}`
}
