import { guardUs } from '../constants.ts'
import type { BookedLimit } from '../messages.ts'

/** A limit, with what follows from its key and amount. */
export interface Limit extends BookedLimit {
  /** What it counts. */
  readonly unit: string
  /** How long a unit counts after it arrived: the period, and what clocks may differ by. */
  readonly countedUs: number
  /** Moments are logged as the next multiple of this. */
  readonly grainUs: number
}

/** Amounts up to this are logged exactly, larger ones in so many parts of the period. */
const exactAmount = 64
const partsOfPeriod = 128

export function limitOf(key: string, amount: number): Limit {
  const periodMs = periodOf(key)
  const grainUs = amount <= exactAmount ? 1 : Math.max(1, Math.floor((periodMs * 1000) / partsOfPeriod))
  return { key, amount, periodMs, unit: unitOf(key), countedUs: Math.floor((periodMs * 2001) / 2) + guardUs, grainUs }
}

export function periodOf(key: string): number {
  return key.includes('/') ? Number(key.slice(key.lastIndexOf('/') + 1)) : 0
}

export function unitOf(key: string): string {
  return key.includes('/') ? key.slice(0, key.lastIndexOf('/')) : 'requests'
}

/** Units by the moment at which they can have arrived at the latest, in shared time; sorted by it. */
export interface LogEntry {
  arrivesUs: number
  units: number
  /** When those can have arrived at the earliest that are not reported yet; the same moment for all others. */
  leastUs: number
}

export interface LimitLog {
  entries: LogEntry[]
  total: number
  /** From when on the log is complete; 0 for always. */
  sinceUs: number
  /** When the copy was made that a process registered after a loss; 0 without one. */
  mirroredUs: number
  /** When a grant last left nothing of the limit; 0 for never. */
  fullUs: number
  /** From when on units can be free a period later, in that order; made when it is needed. */
  frees?: readonly Free[] | undefined
}

interface Free {
  readonly fromUs: number
  readonly units: number
  /** Not reported yet: it may be given back. */
  readonly isOpen: boolean
}

/** Where a moment is entered; never earlier than it is. */
function entryUs({ grainUs }: Limit, atUs: number): number {
  return grainUs === 1 ? atUs : Math.ceil(atUs / grainUs) * grainUs
}

export function enter(log: LimitLog, limit: Limit, atUs: number, units: number, leastUs: number): void {
  if (units <= 0) return
  const arrivesUs = entryUs(limit, atUs)
  const { entries } = log
  log.frees = undefined
  let at = entries.length
  while (at > 0 && entries[at - 1]!.arrivesUs > arrivesUs) at -= 1
  const before = entries[at - 1]
  log.total += units
  const least = leastUs < atUs ? leastUs : arrivesUs
  if (before?.arrivesUs === arrivesUs) {
    before.units += units
    before.leastUs = Math.min(before.leastUs, least)
  } else entries.splice(at, 0, { arrivesUs, units, leastUs: least })
}

/** Takes units out again that were entered at this moment; returns how many of them were still there. */
export function takeOut(log: LimitLog, limit: Limit, atUs: number, units: number): number {
  const arrivesUs = entryUs(limit, atUs)
  let at = log.entries.length - 1
  while (at >= 0 && log.entries[at]!.arrivesUs !== arrivesUs) at -= 1
  const entry = log.entries[at]
  if (entry === undefined) return 0
  const taken = Math.min(units, entry.units)
  entry.units -= taken
  log.total -= taken
  log.frees = undefined
  if (entry.units === 0) log.entries.splice(at, 1)
  return taken
}

/** Forgets units whose period has passed. */
export function expire(log: LimitLog, limit: Limit, verifiedUs: number): void {
  const pastUs = verifiedUs - limit.countedUs
  const { entries } = log
  let gone = 0
  while (gone < entries.length && entries[gone]!.arrivesUs <= pastUs) {
    log.total -= entries[gone]!.units
    gone += 1
  }
  if (gone === 0) return
  entries.splice(0, gone)
  log.frees = undefined
}

/**
 * When so many units are free again: after all that arrived earlier. Units that are not reported yet are free a period
 * after they were granted at the earliest, or `now` where they may be given back.
 */
export function freeInUs(
  log: LimitLog,
  limit: Limit,
  units: number,
  verifiedUs: number,
  unreported: 'granted' | 'now',
): number {
  if (units <= 0) return 0
  const rounds = Math.floor((units - 1) / limit.amount)
  let left = units - rounds * limit.amount
  let inUs = limit.countedUs
  const isNow = unreported === 'now'
  log.frees ??= log.entries
    .map(({ arrivesUs, units, leastUs }) => ({ fromUs: leastUs, units, isOpen: leastUs < arrivesUs }))
    .sort((a, b) => a.fromUs - b.fromUs)
  if (isNow) for (const free of log.frees) if (free.isOpen) left -= free.units
  if (left <= 0) inUs = 0
  for (const free of log.frees) {
    if (left <= 0) break
    if (isNow && free.isOpen) continue
    left -= free.units
    if (left <= 0) inUs = Math.max(0, free.fromUs + limit.countedUs - verifiedUs)
  }
  return rounds * limit.countedUs + inUs
}

/** Until when a limit is paced because its log is not complete yet. */
export function pacedUntilUs(log: LimitLog, { countedUs }: Limit): number {
  return log.sinceUs === 0 ? 0 : log.sinceUs + countedUs
}
