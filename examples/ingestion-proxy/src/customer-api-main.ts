// The customer API: reads what was ingested. It never calls the vendor, so it scales apart from the proxy.
import { answerErrors, logTo, readEnv, runMain, SettingError, serve } from 'example-service'
import express from 'express'
import { Registry } from 'prom-client'
import { Inventory } from './inventory.ts'

await runMain(async () => {
  const [env, log] = [readEnv(), logTo('customer-api')]
  // A variable that was left over would be a secret where it is not needed, and a way around the proxy.
  for (const name of ['NIVODA_PROXY_BASE_URL', 'NIVODA_ENDPOINT', 'NIVODA_PASSWORD', 'INTERNAL_SERVICE_TOKEN'])
    if (env.optional(name) !== undefined)
      throw new SettingError(`${name} is set: the customer API does not call the vendor`)
  const inventory = new Inventory(env.url('DATABASE_URL', 'use postgresql://user:password@host:5432/diamonds'))
  await inventory.prepare()
  const app = express()
  app.disable('x-powered-by')
  app.get('/api/diamonds', async (_, response) => {
    response.json({ diamonds: await inventory.list(100) })
  })
  app.use(answerErrors)
  await serve({
    ...{ env, log, port: 3000, registry: new Registry() },
    handler: app,
    ready: async () => ({ ready: true }),
    close: () => inventory.close(),
  })
})
