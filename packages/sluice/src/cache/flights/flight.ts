import type { Gate } from '../../runtime/gate.ts'
import type { FetchContext } from '../cache.ts'
import type { DefinedKey } from '../keys/cache-key.ts'
import { type EntryRules, firstRule } from '../keys/key-spec.ts'
import type { Entry } from '../l1/entry.ts'
import type { ResolvedOptions } from '../options.ts'
import type { Position } from '../protocol/messages.ts'

/** How many keys without a flight are kept. */
const maxIdle = 4096

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

/** A lookup that ended with what is cached. */
export function cached(entry: Entry, stale: boolean, from: LookupResult['from']): LookupResult {
  return { value: entry.value, stale, from, entry }
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
  readonly slot: FlightSlot
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

  constructor(key: DefinedKey, fetch: Fetch, rules: EntryRules | undefined, slot: FlightSlot, sequence: number) {
    this.sequence = sequence
    this.key = key
    this.fetch = fetch
    this.rules = rules
    this.slot = slot
  }

  /** How long its fetch may take. */
  fetchDeadlineMs(options: ResolvedOptions): number {
    return firstRule([this.rules, this.key.spec.options], 'fetchDeadlineMs') ?? options.fetchDeadlineMs
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

/** Where the flight of one key is. */
export interface FlightSlot {
  flight: Flight | undefined
}

/**
 * What is in flight, by key. The slot of a key stays when its flight has ended, until there are too many without one.
 *
 * A `Map` whose entries are added and deleted all the time is slow: V8 replaces its table every few hundred times, and
 * each old table refers to the next one. Once one of them is in old space, it and all later ones, with every value that
 * was in them, stay in memory until the next full garbage collection, and every other one copies them.
 */
export class FlightMap {
  #slots = new Map<string, FlightSlot>()
  #size = 0

  get size(): number {
    return this.#size
  }

  /** How many keys are kept, with a flight or without. */
  get keys(): number {
    return this.#slots.size
  }

  get(key: string): Flight | undefined {
    return this.#slots.get(key)?.flight
  }

  /** The slot of a key. One that stays empty may be replaced by the next call. */
  slot(key: string): FlightSlot {
    const known = this.#slots.get(key)
    if (known !== undefined) return known
    if (this.#slots.size >= 2 * this.#size + maxIdle) this.#removeIdle()
    const slot = { flight: undefined }
    this.#slots.set(key, slot)
    return slot
  }

  /** Puts a flight into its slot, in place of the one that was there. */
  begin(flight: Flight): void {
    if (flight.slot.flight === undefined) this.#size += 1
    flight.slot.flight = flight
  }

  /** Removes a flight from its slot, unless another has taken its place. */
  end(flight: Flight): void {
    if (flight.slot.flight !== flight) return
    flight.slot.flight = undefined
    this.#size -= 1
  }

  /** All flights. */
  flights(): Flight[] {
    const all: Flight[] = []
    for (const { flight } of this.#slots.values()) if (flight !== undefined) all.push(flight)
    return all
  }

  #removeIdle(): void {
    const slots = this.#slots
    this.#slots = new Map()
    for (const [key, slot] of slots) if (slot.flight !== undefined) this.#slots.set(key, slot)
  }
}
