/** What a store reports about itself. */
export interface StoreHealth {
  readonly reachable: boolean
  /** False when it cannot decide on everything that it is asked, although it is reachable. */
  readonly ok?: boolean
  /** Time of one round trip; 0 in process. */
  readonly roundTripMs: number
  /** What an operator should fix, in full sentences. */
  readonly warnings: readonly string[]
  readonly details: Readonly<Record<string, string | number | boolean>>
}
