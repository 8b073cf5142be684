import type { Algorithm } from '../algorithms/algorithm.ts'
import type { CalendarUnit } from '../algorithms/calendar-period.ts'
import { algorithmNames, algorithms } from '../algorithms/index.ts'
import { invalidOption } from '../errors.ts'
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
   * What each limit counts, in one number that is stored beside its fields: when a policy adds, drops or reorders limits, those that
   * stay are found again and their usage carries over. Distinct within a set. The amount is not part of it.
   */
  readonly tags: readonly number[]
  /** The tags as one text: sets with the same layout can share stored state as it is. */
  readonly layout: string
  /** Whether a limit needs an open hold to count, so that `take` makes no sense. */
  readonly needsHold: boolean
  /** Whether all limits count per window. */
  readonly windows: boolean
  /** Whether no limit looks at anything finer than a millisecond. */
  readonly coarse: boolean
}

export const maxLimitsPerRule = 16

const windows: ReadonlySet<string> = new Set(['fixed-window', 'calendar'])

const wellKnown = [1000, 60_000, 3_600_000, 86_400_000]
const calendars: readonly CalendarUnit[] = ['day', 'week', 'month']

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
    coarse: limits.every(({ algorithm }) => windows.has(algorithm) || algorithm === 'sliding-window'),
  }
}

/** The algorithm's code in a tag, the index in `algorithmNames`. */
export function codeOf(tag: number): number {
  return tag < 128 ? tag >> 4 : tag % 8
}

// Usual limits have a tag below 128, which MessagePack keeps in one byte: the code and one of sixteen kinds. All others are told apart by
// a hash wide enough that no two limits of one rule, now or after a change of policy, meet in practice.
function tagOf(limit: Limit, taken: readonly number[]): number {
  const code = algorithmNames.indexOf(limit.algorithm)
  const kind = usualKind(limit)
  let tag = kind < 0 ? wideTag(code, identityOf(limit)) : code * 16 + kind
  // Two limits that count the same differ only in their amounts; the second one needs a place of its own all the same.
  for (let n = 2; taken.includes(tag); n++) tag = wideTag(code, `${identityOf(limit)} ${n}`)
  return tag
}

function usualKind({ algorithm, periodMs, aligned, calendar, zone }: Limit): number {
  if (algorithm === 'calendar') return zone === 'UTC' ? calendars.indexOf(calendar!) : -1
  if (algorithm === 'concurrency') return 0
  const usual = wellKnown.indexOf(periodMs)
  return usual < 0 || !aligned ? usual : usual + 4
}

// FNV-1a, of which 24 bits stay.
function wideTag(code: number, identity: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < identity.length; i++) hash = Math.imul(hash ^ identity.charCodeAt(i), 0x01000193)
  return 128 + ((hash ^ (hash >>> 24)) & 0xffffff) * 8 + code
}

function identityOf({ algorithm, periodMs, aligned, calendar, zone }: Limit): string {
  if (algorithm === 'calendar') return `${calendar} ${zone}`
  return aligned ? `${periodMs} aligned` : `${periodMs}`
}
