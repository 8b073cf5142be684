import type { Gate } from '../../runtime/gate.ts'
import type { FetchContext } from '../cache.ts'
import type { DefinedKey } from '../keys/cache-key.ts'
import type { EntryRules } from '../keys/key-spec.ts'
import type { Entry } from '../l1/entry.ts'
import type { Position } from '../protocol/messages.ts'
import type { FlightSlot } from './flight-map.ts'

/** Reads a value from its source of truth. */
export interface Fetch<T = unknown> {
  (context: FetchContext): Promise<T> | T
  /** Whether it waits for a fetch of many keys, which has the place of all of them among the concurrent ones. */
  readonly isGrouped?: true
}

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
  /** The position of the view when it began: what it holds of the key may have left L1 since. */
  readonly sequence: number
  /** Set once the data is being read; after an invalidation since then, new callers start another flight. */
  stamp: Position | undefined = undefined
  /** Set by an invalidation that is in no log. */
  invalidated = false
  /** What was set under the key meanwhile: newer than what the fetch returns. */
  replacement: Entry | undefined = undefined
  /** The flight whose fetch looked this one up, as far as that is known. */
  parent: Flight | undefined = undefined
  /** Has its place among the concurrent fetches of a name, and lends it to one fetch at a time that it waits for. */
  place: Gate | undefined = undefined
  /** The flights that its fetch waits for. */
  #waitsFor: Flight[] | undefined = undefined
  #isOver = false
  #result: Promise<LookupResult> | undefined = undefined
  #resolve: ((result: LookupResult | Promise<LookupResult>) => void) | undefined = undefined

  constructor(
    key: DefinedKey,
    fetch: Fetch,
    rules: EntryRules | undefined,
    slot: FlightSlot<Flight>,
    sequence: number,
  ) {
    this.sequence = sequence
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

  /** Its fetch looked up another flight. */
  waitFor(flight: Flight): void {
    this.#waitsFor ??= []
    this.#waitsFor.push(flight)
  }

  /** Whether this flight, or one that it waits for, waits for another one. */
  reaches(other: Flight): boolean {
    if (this === other) return true
    return !this.#isOver && (this.#waitsFor?.some((each) => each.reaches(other)) ?? false)
  }

  /** It waits for nothing any more. */
  over(): void {
    this.#isOver = true
  }

  /** Says how it ended, or will end. */
  end(result: LookupResult | Promise<LookupResult>): void {
    if (this.#resolve !== undefined) this.#resolve(result)
    else if (result instanceof Promise) this.#result = result
  }
}
