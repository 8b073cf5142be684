import { checkOptionNames, checkWhole, optionNames } from '../../core/check-options.ts'
import type { Clock } from '../../core/clock.ts'
import { type Duration, parseDuration } from '../../core/duration.ts'
import { invalidOption } from '../../core/errors.ts'
import { Lookup, type LookupFunction, type ResolvedLookup } from './lookup.ts'

/** A lookup and how it is used. */
export interface LookupOptions {
  readonly get: LookupFunction
  /** After how long a key is asked for again, while its last tier holds. A minute by default. */
  readonly refresh?: Duration
  /** The most at a time. 8 by default. */
  readonly atOnce?: number
  /** How long one may take. A second by default. */
  readonly timeout?: Duration
  /** How many keys are remembered. 100,000 by default. */
  readonly maxKeys?: number
}

/** By the names that rules say in `tier: { lookup }`. */
export type Lookups = Readonly<Record<string, LookupFunction | LookupOptions>>

const names = optionNames<LookupOptions>({ get: true, refresh: true, atOnce: true, timeout: true, maxKeys: true })

/** What finds lookups by name, and what keys they have met that they do not know yet. */
export type LookupSource = Pick<LookupSet, 'names' | 'find' | 'takePending'>

/** The lookups of a policy, across its versions. */
export class LookupSet {
  readonly #lookups = new Map<string, Lookup>()
  readonly #pending = new Set<Promise<void>>()

  constructor(lookups: Lookups, clock: Clock) {
    for (const [name, given] of Object.entries(lookups)) {
      const resolved = resolve(given, `lookups.${name}`)
      this.#lookups.set(name, new Lookup(name, resolved, clock, this.#pending))
    }
  }

  get names(): readonly string[] {
    return [...this.#lookups.keys()]
  }

  find(name: string): Lookup | undefined {
    return this.#lookups.get(name)
  }

  /**
   * What keys were met that are not known yet, since it was last called: resolves when they were looked up, or could
   * not be. Undefined when all were known.
   */
  takePending(): Promise<unknown> | undefined {
    if (this.#pending.size === 0) return undefined
    const all = [...this.#pending]
    this.#pending.clear()
    return Promise.all(all)
  }
}

function resolve(given: LookupFunction | LookupOptions, option: string): ResolvedLookup {
  const options: Partial<LookupOptions> = typeof given === 'function' ? { get: given } : given
  checkOptionNames(option, options, names)
  const { get, refresh = '1m', atOnce = 8, timeout = '1s', maxKeys = 100_000 } = options
  if (typeof get !== 'function') throw invalidOption(option, given, 'pass a function from a key to its tier')
  checkWhole(`${option}.atOnce`, atOnce, 1, 'lookups')
  checkWhole(`${option}.maxKeys`, maxKeys, 1, 'keys')
  const ms = (name: string, value: Duration): number => {
    const parsed = parseDuration(value, `${option}.${name}`)
    checkWhole(`${option}.${name}`, parsed, 1, 'milliseconds')
    return parsed
  }
  return { get, refreshMs: ms('refresh', refresh), atOnce, timeoutMs: ms('timeout', timeout), maxKeys }
}
