import { guardUs } from './constants.ts'
import type { BookedLimit } from './messages.ts'

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
