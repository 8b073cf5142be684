import { appendFile } from 'node:fs/promises'
import { findRedis, logTo, readEnv, runMain, SettingError, serve } from 'example-service'
import { openPool } from 'example-service/postgres'
import { recommendApi } from './app.ts'
import { Database } from './data/database.ts'
import { readEnrichment } from './data/enrichment.ts'
import { builtInModel, modelsAt } from './decide/models.ts'
import { startServices } from './services.ts'
import { readSettings } from './settings.ts'
import { createTracing } from './tracing.ts'

await runMain(async () => {
  const [env, log] = [readEnv(), logTo('recommend-api')]
  const settings = readSettings(env)
  const databaseUrl = env.url('DATABASE_URL', 'use postgresql://user:password@host:5432/kaireon')
  const replicaUrl = env.optionalUrl('DATABASE_REPLICA_URL')
  const modelsUrl = env.optionalUrl('MODELS_URL')
  const enrichmentFile = env.optional('ENRICHMENT_FILE') ?? new URL('../enrichment.json', import.meta.url)
  const enrichment = await checked('ENRICHMENT_FILE', readEnrichment(enrichmentFile))
  const traceFile = env.optional('TRACE_FILE')
  if (traceFile !== undefined) await checked('TRACE_FILE', appendFile(traceFile, ''))

  const primary = openPool(databaseUrl)
  const replica = replicaUrl === undefined ? undefined : openPool(replicaUrl)
  const database = new Database(primary, replica)
  await database.prepare()
  const redis = await findRedis(env, log)
  const tracing = createTracing({
    sampleRate: settings.traceSampleRate,
    file: traceFile,
    isExported: env.optionalUrl('OTEL_EXPORTER_OTLP_ENDPOINT') !== undefined,
  })
  const services = await startServices({
    ...(redis && { redis }),
    ...{ database, settings, enrichment },
    callModel: modelsUrl === undefined ? builtInModel : modelsAt(modelsUrl),
    tracing,
  })
  await serve({
    ...{ env, log, port: 3000, registry: services.registry },
    handler: recommendApi(services),
    async ready() {
      const { ready, warnings } = await services.limiter.health()
      // Without Redis it still answers: it refuses decisions with a time to come back, and takes changes.
      return { ready: true, exact: ready, warnings, models: services.scoring.breakers.stats() }
    },
    async close() {
      await services.close()
      await tracing.close()
      redis?.disconnect()
      await Promise.all([primary.end(), replica?.end()])
    },
  })
})

/** What is wrong with the file of a variable. */
function checked<T>(variable: string, file: Promise<T>): Promise<T> {
  return file.catch(({ message }: Error) => {
    throw new SettingError(`${variable}: ${message}`)
  })
}
