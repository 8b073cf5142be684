import { readFile } from 'node:fs/promises'
import { connectRedis, logTo, readEnv, runMain, serve } from 'example-service'
import { openMongoLimits } from 'example-service/mongo-limits'
import { imageService } from './app.ts'

await runMain(async () => {
  const [env, log] = [readEnv(), logTo('image-service')]
  const initial = JSON.parse(await readFile(new URL('../rate-limits.json', import.meta.url), 'utf8'))
  const redis = connectRedis(env, log)
  const limits = await openMongoLimits(initial, { env, log, redis })
  await serve({
    ...{ env, log, port: 3010, registry: limits.registry },
    handler: imageService(limits),
    ready: limits.ready,
    async close() {
      await limits.close()
      redis.disconnect()
    },
  })
})
