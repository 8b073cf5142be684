import type { Logger } from 'pino'
import type { Limiter } from 'sluice'
import { LimiterCounter } from 'sluice/reports'
import { adminAccess } from './admin-access.ts'
import { AuditLog } from './audit/audit-log.ts'
import type { ServerConfig } from './config/config.ts'
import { followFiles } from './connections/file-backed.ts'
import { DecisionTurns } from './decision-turns.ts'
import type { GrpcListener } from './envoy/listen.ts'
import { shareEndedSessions } from './http/access/session/share-ended-sessions.ts'
import { createApp } from './http/app.ts'
import { BatchWork } from './http/batch-work.ts'
import { listenHttp } from './http/listen/listen.ts'
import { createLog } from './log/create-log.ts'
import { logEvents } from './log/log-events.ts'
import { type DaemonMetrics, daemonMetrics } from './metrics/daemon-metrics.ts'
import { type OpenLimiter, openLimiter } from './open-limiter.ts'
import { closeAll, type Opened } from './opened.ts'
import { isWritable } from './policy/place/policy-place.ts'
import { type FleetLook, sharedLook } from './recent/fleet/fleet-reader.ts'
import { openReports } from './recent/fleet/open-reports.ts'
import { Live } from './recent/live.ts'
import { openRing } from './recent/replay/request-ring.ts'
import { createHide } from './recent/replay/secret-names.ts'
import { checkRedis, startWarnings, watchStore } from './start-checks.ts'
import { waitForRedis } from './wait-for-redis.ts'

/** A daemon that runs. */
export interface Daemon {
  /** Where the page and the API are. */
  readonly url: string
  /** Where operators find the page, their API and metrics: `url`, unless they have a listener of their own. */
  readonly adminUrl: string
  /** Where the Envoy rate-limit service is, if it was asked for: `host:port`. */
  readonly grpcUrl: string | undefined
  /** Where the proxy for upstreams is, if it was asked for. */
  readonly proxyUrl: string | undefined
  readonly service: string
  /** Where the policy comes from, for people. */
  readonly policySource: string
  readonly store: string
  /** The admin token, and the file it was written to if it was generated. */
  readonly adminToken: string
  readonly tokenFile: string | undefined
  /** A new code that signs in to the page once, within a minute. */
  signInCode(): string
  readonly log: Logger
  /** Reads certificates and tokens again, as it does when their files change. */
  reload(): void
  /** Answers what was accepted, gives leases back, and ends. */
  close(): Promise<void>
}

export interface ServeOptions {
  /** Where to log; standard output when left out. */
  readonly log?: Logger
  /** Called once it listens, before the first line of the log. */
  readonly onListening?: (daemon: Daemon) => void
  /** Whether another port will do when the default one is taken. */
  readonly otherPort?: boolean
  /** How long accepted requests get to finish when the daemon ends. 10 s by default. */
  readonly drainMs?: number
  /** Gives up a wait for Redis. */
  readonly signal?: AbortSignal
}

/**
 * Starts the daemon. It listens on this machine only, unless the configuration names another address.
 *
 * @example
 * const daemon = await serve(resolveConfig({ port: '0' }))
 * await fetch(`${daemon.url}/v1/check`, { method: 'POST', body: '{"key":"user:1","rule":"per-user"}' })
 * await daemon.close()
 */
export async function serve(config: ServerConfig, options: ServeOptions = {}): Promise<Daemon> {
  const { log = createLog(config.logLevel), drainMs = 10_000, otherPort = false } = options
  const opened: Opened = []
  try {
    if (config.withoutRedis === 'wait') await waitForRedis(config, { log, otherPort, signal: options.signal })
    const redisTrouble = await checkRedis(config)
    const open = await openLimiter(config, opened)
    const { limiter, archive, policy } = open
    const metrics = daemonMetrics()
    const counter = new LimiterCounter(limiter)
    opened.push(logEvents(limiter, log), metrics.watch(limiter), () => counter.stop())
    const audit = new AuditLog(log)
    const hide = createHide()
    const ring = openRing(policy, hide)
    const reports = openReports(open, counter, opened)
    const { replica, readers } = reports
    const lookAt = sharedLook(readers)
    const look = (): Promise<FleetLook> => lookAt(limiter.policy.service)
    const live = new Live({ limiter, counter, replica, look, document: () => policy.document?.parsed })
    opened.push(() => live.close())
    let draining = false
    const admin = adminAccess(config, log)
    opened.push(shareEndedSessions(admin.page.sessions, open.redis))
    const grpc = config.grpcPort === undefined ? undefined : await openGrpc(config, open, counter, metrics, log, opened)
    opened.push(async () => grpc?.close(drainMs))
    // Egress and cache are many modules, as gRPC is, so they are loaded where they are used.
    const proxying = config.proxyPort === undefined ? undefined : await import('./proxy/open-proxy.ts')
    const proxy = await proxying?.openProxy(config, open, { metrics, reports, log, drainMs }, opened)
    const watching = config.dataSources.size === 0 ? undefined : await import('./data-sources/data-sources.ts')
    const dataSources = await watching?.openDataSources(config, open, metrics, opened)
    const parts = {
      ...open,
      ...{ reports, dataSources, proxy, counter, live, ring, hide, audit, metrics, log },
      isWritable: () => archive !== undefined && isWritable(config.policy),
      ...{ deadlineMs: config.deadlineMs, historyUrl: config.historyUrl, env: config.env },
      batches: new BatchWork(config.maxBatch),
      access: admin.access,
      page: admin.page,
      identity: { trustedProxies: config.trustedProxies, forwardedBy: config.forwardedBy },
      startedAt: new Date(),
      isDraining: () => draining,
    }
    const { adminPort } = config
    const http = await listenHttp(createApp(parts, adminPort === undefined ? 'both' : 'decisions'), config, otherPort)
    const operators =
      adminPort === undefined
        ? undefined
        : await listenHttp(
            createApp(parts, 'operators'),
            { host: config.adminHost, port: adminPort, portGiven: true, tls: config.tls },
            false,
          ).catch(async (error) => {
            await http.close(0)
            throw error
          })
    opened.push(async () => {
      await Promise.all([http.close(drainMs), operators?.close(drainMs), grpc?.close(drainMs), proxy?.close()])
    })
    const files = followFiles(config.followed, log)
    opened.push(() => files.stop())
    const { service, status } = limiter.policy
    const store = config.redis === undefined ? 'memory' : 'redis'
    const { version } = status
    const policySource = open.policySource()
    const token = admin.publish((operators ?? http).port)
    opened.push(token.remove)
    let closing: Promise<void> | undefined
    const daemon: Daemon = {
      url: http.url,
      adminUrl: (operators ?? http).url,
      grpcUrl: grpc?.url,
      proxyUrl: proxy?.url,
      service,
      policySource,
      store,
      adminToken: admin.first().token,
      tokenFile: token.file,
      signInCode: () => admin.page.issueCode(admin.first()).code,
      log,
      reload: files.reload,
      close() {
        draining = true
        live.close()
        closing ??= closeAll(opened).then(() => log.info('ended'))
        return closing
      },
    }
    options.onListening?.(daemon)
    log.info(
      {
        url: http.url,
        address: http.address,
        ...(operators && { admin: operators.url }),
        grpc: grpc?.url,
        proxy: proxy?.url,
        service,
        policy: policySource,
        version,
        store,
      },
      'listening',
    )
    for (const warning of startWarnings(config, open, [redisTrouble, token.warning, ...(proxy?.warnings ?? [])]))
      log.warn(warning)
    opened.push(watchStore(limiter, log, metrics.storeUp))
    return daemon
  } catch (error) {
    await closeAll(opened)
    throw error
  }
}

async function openGrpc(
  config: ServerConfig,
  { limiter, policy, store }: OpenLimiter,
  counter: LimiterCounter,
  metrics: DaemonMetrics,
  log: Logger,
  opened: Opened,
): Promise<GrpcListener> {
  const [{ listenGrpc }, { OverrideLimiters }] = await Promise.all([
    import('./envoy/listen.ts'),
    import('./envoy/override-limiters.ts'),
  ])
  const service = (): string => limiter.policy.service
  const watch = (each: Limiter): (() => void) => {
    const ends = [logEvents(each, log), counter.add(each), metrics.watch(each, { decisionsOnly: true })]
    return () => ends.forEach((end) => void end())
  }
  const overrides = new OverrideLimiters({ store, service, deadlineMs: config.deadlineMs, watch })
  opened.push(() => overrides.close())
  return listenGrpc(
    { limiter, policy, overrides, turns: new DecisionTurns(), shadow: config.grpcShadow },
    config,
    metrics.called,
    log,
  )
}
