import type { Logger } from 'pino'
import { createLimiter, filePolicy, openPolicy } from 'sluice'
import { type Capacity, capacityMetrics, createCapacity, createIngest, type Ingest } from 'sluice/capacity'
import type { PartHealth } from 'sluice/internal'
import { followedOf } from '../config/redis-from.ts'
import type { Tls } from '../config/secrets/tls.ts'
import type { Tokens } from '../config/secrets/tokens.ts'
import { type FileBacked, followFiles } from '../connections/file-backed.ts'
import { openShared } from '../connections/open-shared.ts'
import type { RedisTarget } from '../connections/redis-target.ts'
import { listenHttp } from '../http/listen/listen.ts'
import { readiness } from '../http/ready.ts'
import { createLog } from '../log/create-log.ts'
import { sampled } from '../log/log-events.ts'
import { daemonMetrics } from '../metrics/daemon-metrics.ts'
import { closeAll, type Opened } from '../opened.ts'
import { checkRedis } from '../start-checks.ts'
import { batchGuard } from './batch-guard.ts'
import { collectApp } from './collect-app.ts'
import { fileTarget, httpTarget } from './event-target.ts'

export interface CollectConfig {
  readonly host: string
  readonly port: number
  readonly portGiven: boolean
  readonly path: string
  /** A file to append to, or a URL to post to. */
  readonly target: { readonly file: string } | { readonly url: string }
  /** Where ids are remembered for several collectors; in this process when undefined. */
  readonly redis: RedisTarget | undefined
  readonly service: string
  /** A file with a policy: its section `capacity` has the table, its rules limit batches. Changes are followed. */
  readonly policy: string | undefined
  readonly tokens: Tokens | undefined
  readonly tls: FileBacked<Tls> | undefined
  readonly drainMs: number
}

/** A collector that listens. */
export interface Collector {
  readonly url: string
  readonly target: string
  /** Reads certificates and tokens again. */
  reload(): void
  close(): Promise<void>
}

/** Starts the receiving end of shippers: capacity, ingest and deduplication before a file or another server. */
export async function collect(
  config: CollectConfig,
  otherPort: boolean,
  log: Logger = createLog('silent'),
): Promise<Collector> {
  const opened: Opened = []
  try {
    const target = 'file' in config.target ? await fileTarget(config.target.file) : httpTarget(config.target.url)
    opened.push(() => target.close())
    const policy = config.policy === undefined ? undefined : await openPolicy(filePolicy(config.policy))
    opened.push(() => policy?.close())
    const capacity = await createCapacity({ waiting: () => target.waitingMs(), ...(policy && { policy }) })
    opened.push(() => capacity.close())
    const { redis } = config
    // Only what no waiting mends is an error; during an outage senders are answered 503 and send again.
    await checkRedis({ redis, withoutRedis: 'decide' })
    const shared = await openShared(redis, { service: config.service }, opened)
    const own = shared && { redis: shared.redis }
    const ingest = await createIngest({ accept: (events) => target.accept(events), ...own })
    opened.push(() => ingest.close())
    const limiter = policy && (await createLimiter({ policy, ...own }))
    opened.push(() => limiter?.close())
    const guard = limiter && batchGuard(limiter)
    const metrics = daemonMetrics()
    opened.push(metrics.add(capacityMetrics(capacity)), logCollector(capacity, ingest, log))
    const { path, tokens, drainMs } = config
    let isEnding = false
    const health = (): Promise<PartHealth> => readiness(isEnding, capacity.health(), ingest.health())
    const app = collectApp({ capacity, ingest, path, tokens, health, guard, metrics })
    const listener = await listenHttp(app, config, otherPort)
    const files = followFiles(
      [...followedOf(redis), config.tls, tokens].filter((each) => each !== undefined),
      log,
    )
    opened.push(() => files.stop())
    return {
      url: `${listener.url}${path}`,
      target: target.description,
      reload: files.reload,
      async close() {
        isEnding = true
        await listener.close(drainMs)
        await closeAll(opened)
      },
    }
  } catch (error) {
    await closeAll(opened)
    throw error
  }
}

/** Logs what a collector could not take in, and what it tells shippers; the returned function ends that. */
function logCollector(capacity: Capacity, ingest: Ingest, log: Logger): () => void {
  const warn = sampled(log, 'warn')
  const stops = [
    ingest.on('failed', ({ events, error }) => warn('events could not be stored', () => ({ events, err: error }))),
    ingest.on('refused', ({ reason }) => warn('a batch was refused', () => ({ reason }))),
    capacity.on('policyRejected', ({ source, error }) => log.error({ source, err: error }, 'policy refused')),
    capacity.on('rowChanged', (row) => {
      const { percent, cause } = capacity.load
      const load = { loadPercent: Math.round(percent), cause }
      if (row === undefined) log.warn(load, 'shippers are told to wait')
      else log.info({ maxBatchSize: row.maxBatchSize, delayMs: row.delayMs, ...load }, 'shippers are told another rate')
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}
