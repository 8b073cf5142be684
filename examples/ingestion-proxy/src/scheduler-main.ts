// The scheduler: a job that asks how much there is and gives the pages to workers, then ends.
import { connectRedis, logTo, readEnv, runMain } from 'example-service'
import { vendorCalls } from './call-vendor.ts'
import { pageQueue } from './queue.ts'

await runMain(async () => {
  const [env, log] = [readEnv(), logTo('diamond-scheduler')]
  const callVendor = vendorCalls(env, log)
  const limit = env.whole('PAGE_SIZE', 50, { least: 1 })
  const redis = connectRedis(env, log)
  const operationName = 'DiamondsCount'
  const query = `query ${operationName} { diamonds_by_query_count(query: {}) }`
  const { data } = (await callVendor({ operationName, query })) as { data: { diamonds_by_query_count: number } }
  const count = Math.ceil(data.diamonds_by_query_count / limit)
  const pages = Array.from({ length: count }, (_, i) => ({ offset: i * limit, limit }))
  if (pages.length > 0) await pageQueue(redis).add(pages)
  log('scheduled', { pages: count })
  redis.disconnect()
})
