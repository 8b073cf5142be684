// A worker: fetches pages from the vendor and stores them. Any number of them runs.
import { connectRedis, logTo, readEnv, runMain } from 'example-service'
import { vendorCalls } from './call-vendor.ts'
import { Inventory } from './inventory.ts'
import { type Page, pageQueue } from './queue.ts'

await runMain(async () => {
  const [env, log] = [readEnv(), logTo('diamond-worker')]
  const callVendor = vendorCalls(env, log)
  const inventory = new Inventory(env.url('DATABASE_URL', 'use postgresql://user:password@host:5432/diamonds'))
  const drainMs = env.whole('DRAIN_MS', 10_000)
  const redis = connectRedis(env, log)
  await inventory.prepare()
  const queue = pageQueue(redis)
  const operationName = 'DiamondsPage'
  const asked = 'diamonds_by_query(offset: $offset, limit: $limit) { id price }'
  const query = `query ${operationName}($offset: Int!, $limit: Int!) { ${asked} }`
  let page: Page | undefined
  let isRunning = true
  /** For a page that takes longer than the process may: the vendor can be away for minutes. */
  const giveUp = async (): Promise<void> => {
    if (page !== undefined) await queue.giveBack(page).catch(() => undefined)
    log('stopped', { givenBack: page })
    process.exit(0)
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => {
      isRunning = false
      setTimeout(giveUp, drainMs).unref()
    })
  log('started')
  while (isRunning) {
    page = await queue.next().catch(() => undefined)
    if (page === undefined) continue
    try {
      const answer = await callVendor({ operationName, query, variables: page })
      const { data } = answer as { data: { diamonds_by_query: { id: string }[] } }
      await inventory.save(data.diamonds_by_query)
      log('page_ingested', { ...page })
    } catch (error) {
      log('page_failed', { ...page, error: (error as Error).message })
      await queue.giveBack(page).catch(() => undefined)
    }
    page = undefined
  }
  redis.disconnect()
  await inventory.close()
  log('stopped')
})
