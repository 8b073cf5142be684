import type { Logger } from 'pino'
import type { PartHealth } from 'sluice/internal'
import type { LimiterCounter } from 'sluice/reports'
import type { AuditLog } from '../audit/audit-log.ts'
import type { ServerConfig } from '../config/config.ts'
import type { DataSources } from '../data-sources/data-sources.ts'
import type { MetricsPage } from '../metrics/daemon-metrics.ts'
import type { OpenLimiter } from '../open-limiter.ts'
import type { KeptReports } from '../recent/fleet/open-reports.ts'
import type { Live } from '../recent/live.ts'
import type { RequestRing } from '../recent/replay/request-ring.ts'
import type { Hide } from '../recent/replay/secret-names.ts'
import type { TokenCheck } from './access/access.ts'
import type { PageAccess } from './access/session/page-access.ts'
import type { BatchWork } from './batch-work.ts'

/** Who may ask for what. */
export interface Access {
  readonly admin: TokenCheck
  /** Operators that may look; admins may too. */
  readonly read: TokenCheck
  /** Prometheus; open to all clients unless there is a token for it. */
  readonly metrics: TokenCheck
  /** Checks, holds and `/v1/auth`; open to all clients unless there is a token for it. */
  readonly decide: TokenCheck
  /** Posting reports: never without a token. */
  readonly report: TokenCheck
}

/** What the routes of the HTTP API work on. */
export interface ApiParts
  extends Pick<OpenLimiter, 'limiter' | 'archive' | 'policy' | 'lookups' | 'policySource'>,
    Pick<ServerConfig, 'deadlineMs' | 'historyUrl' | 'env'> {
  /** Whether a policy can be pushed, as far as that is known without trying. */
  readonly isWritable: () => boolean
  readonly reports: KeptReports
  /** Undefined when none are watched. */
  readonly dataSources: DataSources | undefined
  /** The proxy for upstreams, if the daemon has one. */
  readonly proxy: { health(): Promise<PartHealth> } | undefined
  readonly counter: LimiterCounter
  readonly live: Live
  readonly batches: BatchWork
  /** The last requests, to try policies with. */
  readonly ring: RequestRing
  /** Hides what is secret in requests and policies in the same way. */
  readonly hide: Hide
  readonly audit: AuditLog
  readonly metrics: MetricsPage
  readonly log: Logger
  readonly access: Access
  /** Signing in to the page. */
  readonly page: PageAccess
  readonly identity: Pick<ServerConfig, 'trustedProxies' | 'forwardedBy'>
  readonly startedAt: Date
  readonly isDraining: () => boolean
}
