import { Redis } from 'ioredis'
import { createCache, defineKeys, key } from 'sluice/cache'
import { openRedis } from 'sluice/redis'

// One of the processes of a stampede: all of its callers look up one cold key at the same moment. Fetches are counted
// in Redis.
const port = Number(process.argv[2])
const callers = Number(process.argv[3])
const keys = defineKeys({ cold: key('cold', ['round'], { ttl: '60s' }) })
const redis = new Redis(port)
const cache = await createCache({
  redis: openRedis(redis),
  name: 'stampede',
  fetchDeadline: '30s',
})

process.on('message', async ({ round, dies }: { round: number; dies: boolean }) => {
  const fetch = async (): Promise<string> => {
    await redis.incr(`fetches:${round}`)
    // The process that got the fill lock dies during its fetch: another must take over.
    if (dies && (await redis.incr(`deaths:${round}`)) === 1) process.kill(process.pid, 'SIGKILL')
    await new Promise((resolve) => setTimeout(resolve, 200))
    return `value ${round}`
  }
  const answers = await Promise.all(Array.from({ length: callers }, () => cache.getOrFetch(keys.cold(round), fetch)))
  process.send!({ distinct: [...new Set(answers)] })
})
process.send!('ready')
