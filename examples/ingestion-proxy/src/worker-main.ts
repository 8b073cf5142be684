// A worker: fetches pages from the vendor and stores them. Any number of them runs.
import { connectRedis, logTo, readEnv, runMain } from 'example-service'
import { vendorCalls } from './call-vendor.ts'
import { Inventory } from './inventory.ts'
import { pageQueue } from './queue.ts'

await runMain(async () => {
  const [env, log] = [readEnv(), logTo('diamond-worker')]
  const callVendor = vendorCalls(env, log)
  const inventory = new Inventory(env.url('DATABASE_URL', 'use postgresql://user:password@host:5432/diamonds'))
  await inventory.prepare()
  const redis = connectRedis(env, log)
  const queue = pageQueue(redis)
  const operationName = 'DiamondsPage'
  const query = `query ${operationName}($page: Int!) { diamonds_by_query(page: $page) { id price } }`
  let isRunning = true
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      isRunning = false
    })
  log('started')
  while (isRunning) {
    const page = await queue.next().catch(() => undefined)
    if (page === undefined) continue
    try {
      const answer = await callVendor({ operationName, query, variables: { page } })
      const { data } = answer as { data: { diamonds_by_query: { id: string }[] } }
      await inventory.save(page, data.diamonds_by_query)
      log('page_ingested', { page })
    } catch (error) {
      log('page_failed', { page, error: (error as Error).message })
      await queue.giveBack(page).catch(() => undefined)
    }
  }
  redis.disconnect()
  await inventory.close()
  log('stopped')
})
