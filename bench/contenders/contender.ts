/** One limit, as every library here can express it: so many per fixed window from the first hit. */
export interface WindowLimit {
  readonly amount: number
  readonly seconds: number
}

/** The setup of a contender; it must be serialisable, to be sent to another process. */
export interface Setup {
  readonly redisUrl: string
  readonly postgresUrl?: string
  /** Keeps the keys of one contender in one case apart from all others. */
  readonly prefix: string
  readonly limits: readonly WindowLimit[]
  /** Debit units ahead of use. Only Sluice can. */
  readonly lease?: boolean
  /** Deny from a local cache without a call to Redis, where that is not the default. */
  readonly denyCache?: boolean
  /** How many independent limiters, each with its own connection, share the load. */
  readonly instances?: number
  /**
   * Calendar days in place of windows: a daily cap that would be recounted, or a budget that is spread over the day.
   * Only Sluice.
   */
  readonly daily?: 'cap' | 'paced'
  /** In place of counting: nothing is limited, nothing passes, or keys are blocked once denied. Only Sluice. */
  readonly fixed?: 'unlimited' | 'deny' | 'block'
  /** The tier of a key is looked up among so many keys. Only Sluice, and a bare map. */
  readonly plans?: number
  /** How many of those keys are subjects, spread evenly over them. */
  readonly asked?: number
  /** Without the reports of the process, for which decisions are counted. Only Sluice. */
  readonly isUnreported?: boolean
  /** For breakers: open from the start, with a fallback that answers. */
  readonly isOpen?: boolean
  /** For breakers: open by a failure rate instead of failures in a row, where there is a choice. */
  readonly hasRate?: boolean
  /** For caches: which levels there are; only this process when left out. */
  readonly layers?: 'memory' | 'redis' | 'both'
  /** For caches: what is looked up. Hits when left out; keys that are in no level; values past their TTL. */
  readonly lookups?: 'miss' | 'stale'
  /** For caches: tags of every entry. */
  readonly tags?: readonly string[]
}

/**
 * A limiter that is measured. It may deny by resolving to a value or by rejecting with something that is not an error.
 */
export interface Contender<Result = unknown> {
  /** Decides for the subject; `lane` identifies the caller in flight. */
  decide(subject: string, lane: number): Promise<Result>
  /** Reads a result; throws when it is not an answer of the limiter itself, such as one given without Redis. */
  allowed(result: Result): boolean
  close(): Promise<void>
}

/** What every file of a contender exports as `open`. */
export type Open = (setup: Setup) => Promise<Contender>
