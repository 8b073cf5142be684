import type { Duration } from '../../core/duration.ts'

/** A limit of an upstream: long form (`amount`, `per`) or short form. It always means any rolling period. */
export interface UpstreamLimitSpec {
  readonly rps?: number | undefined
  readonly rpm?: number | undefined
  readonly rph?: number | undefined
  readonly rpd?: number | undefined
  readonly amount?: number | undefined
  readonly per?: Duration | undefined
  readonly name?: string | undefined
  /** What is counted: `requests` unless said otherwise; any other name is a unit that `cost` and `settle` report. */
  readonly unit?: string | undefined
}

/** One vendor that this service calls, and how much of it all replicas together may use. */
export interface UpstreamSpec {
  readonly name: string
  /** Scheme and host, optionally with a path prefix: `https://api.vendor.example/v2`. Not needed for `egress.run`. */
  readonly origin?: string | undefined
  readonly limits?: UpstreamLimitSpec | readonly UpstreamLimitSpec[] | undefined
  /**
   * How long a request that was written may be on its way to the vendor: a duration, `auto` to derive it from
   * handshakes, or `response` where only the response proves that it arrived.
   */
  readonly arrival?: Duration | 'auto' | 'response' | undefined
  /** After shared state was lost and no process knew it: pace calls for one period, or wait it out. */
  readonly afterLoss?: 'pace' | 'wait' | undefined
  /** Names the account at the vendor: upstreams of other services with the same account share its limits. */
  readonly account?: string | undefined
  /** Most calls in flight, on all replicas. */
  readonly concurrency?: number | undefined
  readonly maxWait?: Duration | undefined
  readonly maxQueue?: number | undefined
  readonly maxQueuePerTenant?: number | undefined
  readonly timeout?: Duration | undefined
  /** The longest pause a vendor's answer can cause. */
  readonly maxPause?: Duration | undefined
  readonly retry?:
    | false
    | {
        readonly attempts?: number | undefined
        readonly base?: Duration | undefined
        readonly max?: Duration | undefined
        readonly budgetPercent?: number | undefined
        readonly floorPerSecond?: number | undefined
      }
    | undefined
  readonly breaker?:
    | false
    | { readonly failures?: number | undefined; readonly cooldown?: Duration | undefined }
    | undefined
  readonly onStoreFailure?: 'open' | 'closed' | 'local' | undefined
  /** How the vendor reports its limits; read from the headers that most vendors share unless said otherwise. */
  readonly vendor?: string | undefined
  /** Shares of tenants, 1 for those not named. */
  readonly weights?: Readonly<Record<string, number>> | undefined
}
