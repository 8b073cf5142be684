import type { FetchContext } from '../cache.ts'
import type { DefinedKey } from '../keys/cache-key.ts'
import type { EntryRules } from '../keys/key-spec.ts'
import type { Entry } from '../l1/entry.ts'
import type { Position } from '../protocol/messages.ts'
import type { FlightSlot } from './flight-map.ts'

/** Reads a value from its source of truth. */
export type Fetch<T = unknown> = (context: FetchContext) => Promise<T> | T

/** How a lookup ended. */
export interface LookupResult {
  readonly value: unknown
  readonly stale: boolean
  readonly from: 'memory' | 'redis' | 'fetch'
  /** None for a value that cannot be cached. */
  readonly entry: Entry | undefined
}

/** What a caller gets of how its lookup ended. */
export type FromResult<T> = (key: DefinedKey, result: LookupResult) => T

/**
 * One lookup below L1, shared by all callers of the key meanwhile. Its result is only a promise if another than the
 * first caller waits for it.
 */
export class Flight {
  readonly key: DefinedKey
  readonly fetch: Fetch
  readonly rules: EntryRules | undefined
  readonly slot: FlightSlot<Flight>
  /** Set once the data is being read; after an invalidation since then, new callers start another flight. */
  stamp: Position | undefined = undefined
  /** Set by an invalidation that is in no log. */
  invalidated = false
  #result: Promise<LookupResult> | undefined = undefined
  #resolve: ((result: LookupResult | Promise<LookupResult>) => void) | undefined = undefined

  constructor(key: DefinedKey, fetch: Fetch, rules: EntryRules | undefined, slot: FlightSlot<Flight>) {
    this.key = key
    this.fetch = fetch
    this.rules = rules
    this.slot = slot
  }

  get result(): Promise<LookupResult> {
    this.#result ??= new Promise((resolve) => {
      this.#resolve = resolve
    })
    return this.#result
  }

  /** Says how it ended, or will end. */
  end(result: LookupResult | Promise<LookupResult>): void {
    if (this.#resolve !== undefined) this.#resolve(result)
    else if (result instanceof Promise) this.#result = result
  }
}
