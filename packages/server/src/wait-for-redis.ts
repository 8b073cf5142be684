import { setTimeout as sleep } from 'node:timers/promises'
import { Hono } from 'hono'
import type { Logger } from 'pino'
import { StoreError } from 'sluice/store'
import type { ServerConfig } from './config/config.ts'
import type { NodeEnv } from './http/access/access.ts'
import { listenHttp } from './http/listen/listen.ts'
import { HttpProblem, problemResponse } from './http/problem.ts'
import { checkRedis } from './start-checks.ts'

const lookEveryMs = 1000

/**
 * Waits until Redis can be used. Meanwhile the port answers that the process lives and is not ready, and decides
 * nothing: `onStoreFailure` is for an outage, not for a start. Wrong credentials end the wait, as no time mends them.
 */
export async function waitForRedis(
  config: ServerConfig,
  { log, otherPort, signal }: { log: Logger; otherPort: boolean; signal: AbortSignal | undefined },
): Promise<void> {
  let trouble = await troubleOf(config)
  if (trouble === undefined) return
  const listener = await listenHttp(
    waitingApp(() => trouble ?? 'The daemon is starting.'),
    config,
    otherPort,
  )
  try {
    log.warn({ address: listener.address }, `not ready, as it waits for Redis: ${trouble}`)
    while (trouble !== undefined) {
      await sleep(lookEveryMs, undefined, { ...(signal && { signal }) })
      trouble = await troubleOf(config)
    }
    log.info('Redis can be used')
  } finally {
    await listener.close(0)
  }
}

async function troubleOf({ redis }: ServerConfig): Promise<string | undefined> {
  try {
    await checkRedis({ redis, withoutRedis: 'end' })
    return undefined
  } catch (error) {
    if (error instanceof StoreError && error.kind === 'connection') return error.message
    throw error
  }
}

function waitingApp(trouble: () => string): Hono<NodeEnv> {
  const app = new Hono<NodeEnv>()
  for (const path of ['/health', '/healthz']) app.get(path, (c) => c.json({ status: 'ok' }))
  for (const path of ['/ready', '/readyz'])
    app.get(path, (c) => c.json({ ready: false, reasons: [trouble()], warnings: [] }, 503))
  app.notFound(() =>
    problemResponse(
      new HttpProblem(503, 'The daemon waits for Redis and decides nothing yet.', { retryAfterMs: lookEveryMs }),
    ),
  )
  return app
}
