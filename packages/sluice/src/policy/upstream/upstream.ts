/** One limit of an upstream: at most `amount` units in any rolling period, or in flight where the period is 0. */
export interface UpstreamLimit {
  readonly name: string
  /** What the limit counts, in one short text. Usage carries over to a later policy where this stays the same. */
  readonly key: string
  readonly amount: number
  readonly periodMs: number
  /** `requests` spend one unit each; other units are what `cost` and `settle` say. */
  readonly unit: string
}

/** How retries of an upstream are made; undefined where nothing is retried. */
export interface UpstreamRetry {
  /** Most tries of one call, the first one included. */
  readonly attempts: number
  readonly baseMs: number
  readonly maxMs: number
  /** How many retries the fleet may make for 100 calls. */
  readonly budgetPercent: number
  /** Retries per second that are always allowed. */
  readonly floorPerSecond: number
}

/** One vendor, ready to be called. */
export interface CompiledUpstream {
  readonly name: string
  /** Scheme, host and port, e.g. `https://api.vendor.example`; empty for one that only `egress.run` calls. */
  readonly origin: string
  /** The path that every call begins with; `/` for all of them. */
  readonly pathPrefix: string
  readonly limits: readonly UpstreamLimit[]
  /** How long a written request may be on its way, in milliseconds; or how to find out. */
  readonly arrival: number | 'auto' | 'response'
  /** What happens for one period after shared state was lost and no process knew it. */
  readonly afterLoss: 'pace' | 'wait'
  /** The account at the vendor that several services share; undefined where it belongs to this upstream alone. */
  readonly account: string | undefined
  readonly maxWaitMs: number
  readonly maxQueue: number
  /** Undefined: half of `maxQueue` as soon as tenants are named. */
  readonly maxQueuePerTenant: number | undefined
  readonly timeoutMs: number
  readonly maxPauseMs: number
  readonly retry: UpstreamRetry | undefined
  readonly breaker: { readonly failures: number; readonly cooldownMs: number } | undefined
  readonly onStoreFailure: 'open' | 'closed' | 'local'
  readonly vendor: string | undefined
  /** Shares of tenants that are not 1. */
  readonly weights: Readonly<Record<string, number>>
}
