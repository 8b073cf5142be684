import type { StoredValue } from './cache-link.ts'

const timeDigits = 16

/** Takes a stored copy apart: the time that Redis put before it, and the rest. What is too short is damaged, and read as such. */
export function storedValue(copy: Buffer, nowUs: number): StoredValue {
  const id = copy.toString('latin1', 0, timeDigits)
  const ageMs = (nowUs - Number(id)) / 1000
  return { id, ageMs: Number.isFinite(ageMs) ? Math.max(0, ageMs) : 0, bytes: copy.subarray(timeDigits) }
}
