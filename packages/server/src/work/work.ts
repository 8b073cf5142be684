import { Hono } from 'hono'
import type { Registry } from 'prom-client'
import { createLimiter } from 'sluice'
import { type Pipeline, pipelineMetrics, type RunReport } from 'sluice/pipeline'
import { prometheusMetrics } from 'sluice/prometheus'
import { openShared } from '../connections/open-shared.ts'
import type { RedisTarget } from '../connections/redis-target.ts'
import type { NodeEnv } from '../http/access/access.ts'
import { listenHttp } from '../http/listen/listen.ts'
import { HttpProblem, problemResponse } from '../http/problem.ts'
import { readiness } from '../http/ready.ts'
import { processRegistry } from '../metrics/daemon-metrics.ts'
import { closeAll, type Opened } from '../opened.ts'
import { openSource } from '../policy/place/open-source.ts'
import { parsePolicyPlace } from '../policy/place/policy-place.ts'
import { checkRedis } from '../start-checks.ts'
import { openPipeline } from './open-pipeline.ts'
import type { PipelineDocument } from './pipeline-document.ts'

export interface WorkConfig {
  readonly documents: readonly { readonly path: string; readonly document: PipelineDocument }[]
  readonly redis: RedisTarget | undefined
  readonly policy: string | undefined
  readonly service: string
  readonly host: string
  readonly port: number
  readonly portGiven: boolean
  readonly drainMs: number
  readonly dryRun: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A worker that has its pipelines and listens. */
export interface Worker {
  readonly url: string
  readonly pipelines: readonly Pipeline[]
  /** Runs all pipelines until they end; when one fails, the others finish what is in hand and it rejects. */
  run(): Promise<readonly RunReport[]>
  close(): Promise<void>
}

/** Opens the pipelines of documents, and listens for probes and for Prometheus. */
export async function openWorker(config: WorkConfig, otherPort: boolean): Promise<Worker> {
  const opened: Opened = []
  const pipelines: Pipeline[] = []
  let isEnding = false
  try {
    await checkRedis({ redis: config.redis, withoutRedis: 'decide' })
    const redis = (await openShared(config.redis, { service: config.service }, opened))?.redis
    const limiter = config.policy === undefined ? undefined : await limiterOf(config.policy)
    for (const { document, path } of config.documents) {
      const { env, dryRun } = config
      const pipeline = await openPipeline(document, path, { env, redis, limiter, opened, dryRun })
      pipelines.push(pipeline)
    }
    const registry = processRegistry()
    const metrics = prometheusMetrics(registry, pipelines.map(pipelineMetrics))
    opened.push(() => metrics.close())
    const listener = await listenHttp(
      workApp(pipelines, () => isEnding, registry),
      { ...config, tls: undefined },
      otherPort,
    )
    opened.push(() => listener.close(1000))

    async function limiterOf(place: string): Promise<Awaited<ReturnType<typeof createLimiter>>> {
      const { source, close } = await openSource(parsePolicyPlace(place, undefined, '--policy'))
      opened.push(close)
      const made = await createLimiter({ policy: source, ...(redis && { redis }) })
      opened.push(() => made.close())
      return made
    }

    const closePipelines = async (): Promise<void> => {
      isEnding = true
      await Promise.all(pipelines.map((pipeline) => pipeline.close({ within: config.drainMs })))
    }
    return {
      url: listener.url,
      pipelines,
      async run() {
        const running = pipelines.map((pipeline) => pipeline.run())
        try {
          return await Promise.all(running)
        } catch (error) {
          await closePipelines()
          throw error
        }
      },
      async close() {
        await closePipelines()
        await closeAll(opened)
      },
    }
  } catch (error) {
    await Promise.all(pipelines.map((pipeline) => pipeline.close()))
    await closeAll(opened)
    throw error
  }
}

/** The HTTP side of a worker: probes, metrics, and how its pipelines stand. */
function workApp(pipelines: readonly Pipeline[], isEnding: () => boolean, registry: Registry): Hono<NodeEnv> {
  const app = new Hono<NodeEnv>()
  app.notFound((c) => problemResponse(new HttpProblem(404, `There is no ${c.req.method} ${c.req.path}.`)))
  // By progress: a worker that hangs is restarted, however well it answers.
  app.get('/health', async (c) => {
    const running = pipelines.filter((pipeline) => pipeline.stats().state === 'running')
    const { ready, reasons } = await readiness(false, ...running.map((pipeline) => pipeline.health()))
    return c.json({ ok: ready, reasons }, ready ? 200 : 503)
  })
  app.get('/ready', async (c) => {
    const answer = await readiness(isEnding(), ...pipelines.map((pipeline) => pipeline.health()))
    return c.json(answer, answer.ready ? 200 : 503)
  })
  app.get('/metrics', async (c) => c.text(await registry.metrics(), 200, { 'content-type': registry.contentType }))
  app.get('/stats', (c) =>
    c.json({ pipelines: pipelines.map((pipeline) => ({ name: pipeline.name, ...pipeline.stats() })) }),
  )
  return app
}
