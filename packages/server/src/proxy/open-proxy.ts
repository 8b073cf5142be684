import type { Logger } from 'pino'
import { createEgress, type Egress, egressMetrics } from 'sluice/egress'
import type { PartHealth } from 'sluice/internal'
import { partReport, type Reports } from 'sluice/reports'
import type { ServerConfig } from '../config/config.ts'
import type { Credentials } from '../config/secrets/credentials.ts'
import type { NamedToken } from '../config/secrets/tokens.ts'
import type { Current } from '../connections/file-backed.ts'
import { logEgress } from '../log/log-events.ts'
import type { DaemonMetrics } from '../metrics/daemon-metrics.ts'
import type { OpenLimiter } from '../open-limiter.ts'
import type { Opened } from '../opened.ts'
import { startProxy } from './proxy.ts'

/** What a daemon shares with its proxy. */
interface Shared {
  readonly metrics: DaemonMetrics
  readonly reports: Pick<Reports, 'add'>
  readonly log: Logger
  readonly drainMs: number
}

/** The proxy of a daemon. */
export interface DaemonProxy {
  readonly url: string
  readonly warnings: readonly string[]
  health(): Promise<PartHealth>
  close(): Promise<void>
}

const maxBodyBytes = 100 * 1024 * 1024

/** Opens the proxy of `--proxy-port`: on the daemon's policy and store, in its metrics and reports. */
export async function openProxy(
  {
    proxyHost: host,
    proxyPort: port,
    proxyCredentials: credentials,
    proxyTokens: tokens,
    tls,
    deadlineMs,
    replicas,
    ...rest
  }: ServerConfig,
  { policy, redis }: OpenLimiter,
  { metrics, reports, log, drainMs }: Shared,
  opened: Opened,
): Promise<DaemonProxy | undefined> {
  if (port === undefined) return undefined
  const { trustedProxies, forwardedBy } = rest
  const egress = await createEgress({
    policy,
    deadline: deadlineMs,
    ...(redis && { redis }),
    ...(replicas === undefined ? {} : { replicas }),
  })
  opened.push(() => egress.close({ within: 500 }))
  opened.push(logEgress(egress, log), metrics.add(egressMetrics(egress)), reports.add(partReport('egress', egress)))
  const shared = { host, port, tokens, credentials, maxBodyBytes, drainMs, tls, metrics }
  const proxy = await startProxy(egress, { ...shared, trusted: { trustedProxies, forwardedBy } }, log)
  opened.push(() => proxy.close())
  return {
    url: proxy.url,
    warnings: warningsFor(tokens, credentials, egress),
    health: () => egress.health(),
    close: () => proxy.close(),
  }
}

/** Warnings for the operator of a proxy at start. */
export function warningsFor(
  tokens: Current<readonly NamedToken[]>,
  credentials: Current<Credentials>,
  { upstreams }: Pick<Egress, 'upstreams'>,
): readonly string[] {
  const unused = Object.keys(credentials.current).filter(
    (name) => !upstreams.some((upstream) => upstream.name === name),
  )
  return [
    ...(upstreams.length === 0 ? ['The policy has no upstreams; the proxy answers 404 until it has.'] : []),
    ...(tokens.current.length === 0
      ? [
          'Neither SLUICE_PROXY_TOKENS_FILE nor INTERNAL_SERVICE_TOKEN is set: whoever reaches the proxy may call vendors.',
        ]
      : []),
    ...unused.map((name) => `There are credentials for ${name}, but the policy has no upstream of that name.`),
  ]
}
