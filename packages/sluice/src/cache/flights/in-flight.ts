import type { Fetch } from '../cache.ts'
import type { CacheKey } from '../keys/cache-key.ts'
import type { EntryRules } from '../keys/key-spec.ts'
import type { Entry } from '../lookup/entry.ts'
import type { Position } from '../protocol/messages.ts'
import type { Flight } from './flight.ts'
import type { FlightSlot } from './flight-map.ts'

/** How a lookup ended. */
export interface Landed {
  readonly value: unknown
  readonly stale: boolean
  readonly from: 'memory' | 'redis' | 'fetch'
  /** None for a value that cannot be cached. */
  readonly entry: Entry | undefined
}

/** What a caller gets of how its lookup ended. */
export type FromLanded<T> = (key: CacheKey, landed: Landed) => T

/** A flight with its end, which is only a promise if another than the first caller waits for it. */
export class InFlight implements Flight {
  readonly key: CacheKey
  readonly fetch: Fetch<unknown>
  readonly rules: EntryRules | undefined
  readonly slot: FlightSlot<InFlight>
  stamp: Position | undefined = undefined
  dead = false
  #landing: Promise<Landed> | undefined = undefined
  #land: ((landed: Landed | Promise<Landed>) => void) | undefined = undefined

  constructor(key: CacheKey, fetch: Fetch<unknown>, rules: EntryRules | undefined, slot: FlightSlot<InFlight>) {
    this.key = key
    this.fetch = fetch
    this.rules = rules
    this.slot = slot
  }

  get landing(): Promise<Landed> {
    this.#landing ??= new Promise((land) => {
      this.#land = land
    })
    return this.#landing
  }

  /** Says how it ended, or will end. */
  land(landed: Landed | Promise<Landed>): void {
    if (this.#land !== undefined) this.#land(landed)
    else if (landed instanceof Promise) this.#landing = landed
  }
}
