import type { Spread } from '../measure/stats.ts'

/** A count with thousands separators. */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

export function countSpread({ median, min, max }: Spread): string {
  return `${count(median)} (${count(min)}-${count(max)})`
}

export function ratio(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 1)}x`
}

export function ratioSpread({ median, min, max }: Spread): string {
  return `${ratio(median)} (${ratio(min)}-${ratio(max)})`
}

/** Microseconds with a meaningful number of digits. */
export function micros(value: number): string {
  return value >= 100 ? count(value) : value.toFixed(value < 10 ? 2 : 1)
}
