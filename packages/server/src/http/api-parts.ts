import type { Logger } from 'pino'
import type { Limiter, PolicyArchive } from 'sluice'
import type { LiveFeed } from '../stats/live-feed.ts'
import type { Stats } from '../stats/stats.ts'

/** What the routes of the HTTP API work on. */
export interface ApiParts {
  readonly limiter: Limiter
  /** Undefined when the policy's source cannot be written to. */
  readonly archive: PolicyArchive | undefined
  /** The document in force, as it was written; undefined when the source has given none. */
  readonly policy: { readonly document: unknown }
  readonly stats: Stats
  readonly feed: LiveFeed
  readonly metrics: MetricsPage
  readonly log: Logger
  readonly adminToken: string | undefined
  readonly trustedProxies: readonly string[]
  /** Where tiers are looked up when a policy is checked. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly startedAt: Date
  readonly isDraining: () => boolean
}

/** The metrics, as Prometheus asks for them. */
export interface MetricsPage {
  readonly contentType: string
  text(): Promise<string>
  /** Counts one HTTP request that was answered. */
  answered(route: string, status: number): void
}
