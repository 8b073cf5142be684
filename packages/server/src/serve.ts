import type { Logger } from 'pino'
import { createLimiter, type Limiter, memoryStore, type Store } from 'sluice'
import { redisStore } from 'sluice/redis'
import type { ServerConfig } from './config/config.ts'
import { examplePolicy } from './config/example-policy.ts'
import { archiveOf } from './config/policy-archive.ts'
import { type OpenPolicy, openPolicy } from './config/policy-place.ts'
import { redisClient } from './config/redis-target.ts'
import { createApp } from './http/app.ts'
import { type HttpListener, listenHttp } from './http/listen.ts'
import { createLog } from './log/create-log.ts'
import { logEvents } from './log/log-events.ts'
import { daemonMetrics } from './metrics/daemon-metrics.ts'
import { documentOf } from './policy/rule-changes.ts'
import { LiveFeed } from './stats/live-feed.ts'
import { Stats } from './stats/stats.ts'

/** A daemon that runs. */
export interface Daemon {
  /** Where the page and the API are. */
  readonly url: string
  /** Where the Envoy rate-limit service is, if it was asked for. */
  readonly grpcUrl: string | undefined
  readonly service: string
  /** Where the policy comes from, for people. */
  readonly policySource: string
  readonly store: string
  readonly log: Logger
  /** Answers what was accepted, gives leases back, and ends. */
  close(): Promise<void>
}

export interface ServeOptions {
  /** Where to log; standard output when left out. */
  readonly log?: Logger
  /** How long accepted requests get to finish when the daemon ends. */
  readonly drainMs?: number
}

/**
 * Starts the daemon. Nothing listens beyond this machine unless the configuration says so.
 *
 * @example
 * const daemon = await serve(resolveConfig({ port: '0' }))
 * await fetch(`${daemon.url}/v1/check`, { method: 'POST', body: '{"key":"user:1","rule":"per-user"}' })
 * await daemon.close()
 */
export async function serve(config: ServerConfig, options: ServeOptions = {}): Promise<Daemon> {
  const log = options.log ?? createLog(config.logLevel)
  const drainMs = options.drainMs ?? 10_000
  const opened: (() => Promise<unknown> | void)[] = []
  const closeAll = async (): Promise<void> => {
    // What was opened last is closed first.
    for (const close of opened.splice(0).reverse()) await close()
  }
  try {
    const { limiter, policy } = await openLimiter(config, opened)
    const metrics = daemonMetrics()
    const stats = new Stats()
    const feed = new LiveFeed(limiter, stats)
    opened.push(logEvents(limiter, log), metrics.watch(limiter), stats.watch(limiter))
    let draining = false
    const app = createApp({
      limiter,
      archive: archiveOf(policy.source),
      stats,
      feed,
      metrics,
      log,
      adminToken: config.adminToken,
      trustedProxies: config.trustedProxies,
      env: config.env,
      startedAt: new Date(),
      isDraining: () => draining,
    })
    const http: HttpListener = await listenHttp(app, config, () => draining)
    opened.push(() => http.close(drainMs))
    const { service, status } = limiter.policy
    log.info(
      { url: http.url, service, policy: status.source, version: status.version, store: config.redis?.kind ?? 'memory' },
      'listening',
    )
    let closing: Promise<void> | undefined
    return {
      url: http.url,
      grpcUrl: undefined,
      service,
      policySource: status.source,
      store: config.redis === undefined ? 'memory' : 'redis',
      log,
      close() {
        draining = true
        feed.close()
        closing ??= closeAll().then(() => log.info('ended'))
        return closing
      },
    }
  } catch (error) {
    await closeAll()
    throw error
  }
}

/** What a configuration amounts to, found out without listening. */
export interface Validated {
  readonly service: string
  readonly version: string
  readonly rules: readonly string[]
  readonly policySource: string
  readonly store: string
  readonly warnings: readonly string[]
}

/** Loads the policy and looks at the store, and leaves it at that: `sluice serve --validate`. */
export async function validate(config: ServerConfig): Promise<Validated> {
  const opened: (() => Promise<unknown> | void)[] = []
  try {
    const { limiter } = await openLimiter(config, opened)
    const { store, warnings } = await limiter.health()
    const { service, rules, status } = limiter.policy
    return { service, version: status.version, rules, policySource: status.source, store: store.name, warnings }
  } finally {
    for (const close of opened.reverse()) await close()
  }
}

async function openLimiter(
  config: ServerConfig,
  opened: (() => Promise<unknown> | void)[],
): Promise<{ limiter: Limiter; policy: OpenPolicy }> {
  const policy = await openPolicy(config.policy)
  opened.push(() => policy.close())
  const store = openStore(config, opened)
  const limiter = await createLimiter({
    policy: policy.source,
    store,
    deadlineMs: config.deadlineMs,
    env: config.env,
    ...(config.policy.optional ? { fallbackPolicy: documentOf(examplePolicy) as never } : {}),
  })
  opened.push(() => limiter.close())
  return { limiter, policy }
}

function openStore({ redis, redisPrefix }: ServerConfig, opened: (() => Promise<unknown> | void)[]): Store {
  if (redis === undefined) return memoryStore()
  const client = redisClient(redis)
  opened.push(() => client.disconnect())
  return redisStore(client, { prefix: redisPrefix })
}
