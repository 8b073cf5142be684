import { createLimiter } from 'sluice'
import { type Pipeline, pipelineMetrics, type RunReport } from 'sluice/pipeline'
import { prometheusMetrics } from 'sluice/prometheus'
import { openRedis } from 'sluice/redis'
import { redisClient } from '../connections/redis-client.ts'
import type { RedisTarget } from '../connections/redis-target.ts'
import { listenHttp } from '../http/listen/listen.ts'
import { processRegistry } from '../metrics/process-registry.ts'
import { closeAll, type Opened } from '../open-limiter.ts'
import { openSource } from '../policy/place/open-source.ts'
import { parsePolicyPlace } from '../policy/place/policy-place.ts'
import { checkRedis } from '../start-checks.ts'
import { openPipeline } from './open-pipeline.ts'
import type { PipelineDocument } from './pipeline-document.ts'
import { workApp } from './work-app.ts'

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
    const target = config.redis
    await checkRedis({ redis: target, withoutRedis: 'decide' })
    const client = target && redisClient(target)
    if (client) opened.push(() => client.disconnect())
    const redis = client && openRedis(client, { service: config.service })
    if (redis) opened.push(() => redis.close())
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
