import type { Headers } from '../../core/retry-after.ts'
import type { Dimension } from './rate-limit-fields.ts'

/** How one vendor reports its limits. What is left out works as with most vendors. */
export interface VendorPreset {
  /** Statuses besides 429, and 503 with `Retry-After`, that mean that a limit was exceeded. */
  isLimited?(status: number, headers: Headers): boolean
  /** The limits that a response reports. */
  dimensions?(headers: Headers, nowMs: number): readonly Dimension[]
  /**
   * Whether a limit with nothing left stops us although the call itself succeeded; only where its reset states when
   * more is available.
   */
  readonly pausesWhenUsedUp?: boolean
  /** How long to wait at least when a limit was exceeded and the vendor does not state a time. */
  readonly leastMs?: number
  /** Whether the vendor states that a retry is useless; undefined when it does not state anything. */
  mayRetry?(headers: Headers, body: string | undefined): boolean | undefined
  /** Whether the body of a refusal is needed to decide. */
  readonly readsBody?: boolean
}
