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
  /** Scheme and host, optionally with a path prefix: `https://api.vendor.example/v2`. */
  readonly origin: string
  readonly limits?: UpstreamLimitSpec | readonly UpstreamLimitSpec[] | undefined
  readonly bound?: 'strict' | 'estimated' | undefined
  readonly spacing?: 'even' | 'burst' | undefined
  /** Most calls in flight, or `{ adaptive: true }` to follow the vendor's latency. */
  readonly concurrency?:
    | number
    | {
        readonly adaptive: true
        readonly initial?: number | undefined
        readonly min?: number | undefined
        readonly max?: number | undefined
      }
    | undefined
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
