import { filePolicy } from 'sluice'
import { createCapacity, createIngest } from 'sluice/capacity'
import type { PartHealth } from 'sluice/internal'
import { openRedis } from 'sluice/redis'
import { parseRedisUrl, redisClient } from '../config/redis-target.ts'
import { listenHttp } from '../http/listen.ts'
import { readiness } from '../http/ready.ts'
import { closeAll, type Opened } from '../open-limiter.ts'
import { checkRedis } from '../start-checks.ts'
import { collectApp } from './collect-app.ts'
import { fileTarget } from './file-target.ts'
import { httpTarget } from './http-target.ts'

export interface CollectConfig {
  readonly host: string
  readonly port: number
  readonly portGiven: boolean
  readonly path: string
  /** A file to append to, or a URL to post to. */
  readonly target: { readonly file: string } | { readonly url: string }
  /** Where ids are remembered for several collectors; in this process when undefined. */
  readonly redis: string | undefined
  readonly service: string
  /** A file with a policy whose section `capacity` has the table; changes are followed. */
  readonly policy: string | undefined
  readonly token: string | undefined
  readonly drainMs: number
}

/** A collector that listens. */
export interface Collector {
  readonly url: string
  readonly target: string
  close(): Promise<void>
}

/** Starts the receiving end of shippers: capacity, ingest and deduplication before a file or another server. */
export async function collect(config: CollectConfig, otherPort: boolean): Promise<Collector> {
  const opened: Opened = []
  try {
    const target = 'file' in config.target ? await fileTarget(config.target.file) : httpTarget(config.target.url)
    opened.push(() => target.close())
    const capacity = await createCapacity({
      waiting: () => target.waitingMs(),
      ...(config.policy === undefined ? {} : { policy: filePolicy(config.policy) }),
    })
    opened.push(() => capacity.close())
    const redis = config.redis === undefined ? undefined : parseRedisUrl(config.redis, '--redis')
    // Only what no waiting mends is an error; during an outage senders are answered 503 and send again.
    await checkRedis({ redis, requireRedis: false })
    const client = redis && redisClient(redis)
    if (client) opened.push(() => client.disconnect())
    const shared = client && { redis: openRedis(client, { service: config.service }) }
    const ingest = await createIngest({ accept: (events) => target.accept(events), ...shared })
    opened.push(() => ingest.close())
    const { path, token, drainMs } = config
    let isEnding = false
    const health = (): Promise<PartHealth> => readiness(isEnding, capacity.health(), ingest.health())
    const app = collectApp({ capacity, ingest, path, token, health })
    const listener = await listenHttp(app, { ...config, tls: undefined }, otherPort)
    return {
      url: `${listener.url}${path}`,
      target: target.description,
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
