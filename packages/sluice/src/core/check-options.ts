import type { TimeSource } from './clock.ts'
import { didYouMean } from './did-you-mean.ts'
import { type Duration, parseDuration } from './duration.ts'
import { invalidOption } from './errors.ts'

/** Node cannot wait longer, and no count of anything here is larger. */
const largest = 2 ** 31 - 1

/**
 * Refuses what is not an options object, a clock that is none, and options that do not exist, naming the nearest that
 * does.
 *
 * @example
 * // Throws: createBreaker.failurs is 5; did you mean "failures"? ...
 * checkOptionNames('createBreaker', { failurs: 5 }, ['failures'])
 */
export function checkOptionNames(owner: string, options: unknown, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalidOption(`${owner} options`, options, `pass an object; its options are ${known.join(', ')}`)
  }
  for (const [name, value] of Object.entries(options)) {
    if (known.includes(name)) continue
    const remedy = `${didYouMean(name, known)}there is no such option; known are ${known.join(', ')}`
    throw invalidOption(`${owner}.${name}`, value, remedy)
  }
  // It would fail later, in the middle of something.
  const { clock } = options as { readonly clock?: Partial<TimeSource> }
  if (clock && !clock.now) throw invalidOption(`${owner}.clock`, clock, 'pass virtualClock()')
}

/**
 * The names of an options type, for `checkOptionNames`. The compiler refuses a name that the type lacks, and one that
 * is missing here.
 */
export function optionNames<Options>(names: Readonly<Record<keyof Options, true>>): readonly string[] {
  return Object.keys(names)
}

/**
 * The same check for calls that are made often: a loop over the names that are given, and nothing where there are none.
 */
export function callOptionCheck(owner: string, known: readonly string[]): (options: unknown) => void {
  const names = new Set(known)
  return (options) => {
    if (options === undefined) return
    if (typeof options !== 'object') checkOptionNames(owner, options, known)
    for (const name in options as object) if (!names.has(name)) checkOptionNames(owner, options, known)
  }
}

/** The options with these names, for a function that refuses all others. */
export function pickOptions<Options extends object>(options: object, names: readonly string[]): Options {
  return Object.fromEntries(Object.entries(options).filter(([name]) => names.includes(name))) as Options
}

/** The options that are given: one with the value undefined counts as left out. */
export function withoutUndefined<T extends object>(given: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never
}

/** Refuses what is not a whole number of something from `least`; `what` says of what, in the plural. */
export function checkWhole(option: string, value: unknown, least: number, what: string): void {
  if (!Number.isSafeInteger(value) || (value as number) < least || (value as number) > largest) {
    const most = (value as number) > largest ? ` to ${largest}` : ''
    throw invalidOption(option, value, `use a whole number of ${what} from ${least}${most}`)
  }
}

/** A duration in milliseconds; refuses one shorter than `leastMs` and one longer than a timer can wait. */
export function durationFrom(leastMs: number, option: string, value: Duration): number {
  const ms = parseDuration(value, option)
  checkWhole(option, ms, leastMs, 'milliseconds')
  return ms
}

/** Refuses what is not a share: a number above 0 and up to 1. */
export function checkShare(option: string, value: unknown): void {
  if (typeof value !== 'number' || !(value > 0 && value <= 1)) {
    throw invalidOption(option, value, 'use a number above 0 and up to 1, such as 0.5')
  }
}

/** Refuses what is neither a function nor left out. */
export function checkFunction(option: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw invalidOption(option, value, 'pass a function')
}
