// The scheduler: a job that asks how much there is and gives the pages to workers, then ends.
import { connectRedis, logTo, readEnv, runMain } from 'example-service'
import { vendorCalls } from './call-vendor.ts'
import { pageQueue } from './queue.ts'

await runMain(async () => {
  const [env, log] = [readEnv(), logTo('diamond-scheduler')]
  const callVendor = vendorCalls(env, log)
  const pageSize = env.whole('PAGE_SIZE', 50, { least: 1 })
  const redis = connectRedis(env, log)
  const operationName = 'DiamondsCount'
  const query = `query ${operationName} { diamonds_by_query_count(query: {}) }`
  const { data } = (await callVendor({ operationName, query })) as { data: { diamonds_by_query_count: number } }
  const pages = Array.from({ length: Math.ceil(data.diamonds_by_query_count / pageSize) }, (_, page) => page)
  if (pages.length > 0) await pageQueue(redis).add(pages)
  log('scheduled', { pages: pages.length })
  redis.disconnect()
})
