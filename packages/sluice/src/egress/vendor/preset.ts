import type { Dimension } from './rate-limit-fields.ts'
import type { Headers } from './wait-forms.ts'

/** How one vendor reports its limits. What is left out is as with most vendors. */
export interface VendorPreset {
  /** Statuses beside 429, and 503 with `Retry-After`, that mean that a limit was met. */
  isLimited?(status: number, headers: Headers): boolean
  /** The limits that a response reports. */
  dimensions?(headers: Headers, nowMs: number): readonly Dimension[]
  /**
   * Whether a limit with nothing left stops us although the call itself succeeded; only where its reset says when more
   * is there.
   */
  readonly pausesWhenUsedUp?: boolean
  /** How long to wait at least when a limit was met and nothing says for how long. */
  readonly leastMs?: number
  /** Whether the vendor says that trying again is useless; undefined when it says nothing. */
  mayRetry?(headers: Headers, body: string | undefined): boolean | undefined
  /** Whether a refusal's body is needed to tell. */
  readonly readsBody?: boolean
}
