export type { Header } from '../../admission/outcome.ts'

/** The largest integer a structured field can hold (RFC 9651, section 3.3.1). */
const maxInteger = 999_999_999_999_999

/** A whole number of units as a structured field holds it. */
export function units(amount: number): number {
  return amount >= maxInteger ? maxInteger : amount > 0 ? Math.floor(amount) : 0
}

/** Whole seconds, rounded up: waiting a little longer always helps, a little shorter never does. */
export function seconds(ms: number): number {
  return Math.min(maxInteger, Math.ceil(ms / 1000))
}
