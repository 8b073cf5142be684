// Uses everything that has a timer or a connection, closes it, and has nothing more to do: the process must exit by
// itself. Called with <library> <port>.
import { createLimiter } from '../../../packages/sluice/src/limiter/create-limiter.ts'
import { openRedis } from '../../../packages/sluice/src/stores/redis/open-redis.ts'
import { type Library, singleClient } from '../clients.ts'

const [library, port] = process.argv.slice(2) as [Library, string]
const limiter = await createLimiter({
  policy: {
    service: 'exit',
    rules: [{ name: 'r', limits: { rpm: 1_000_000 }, onStoreFailure: 'local', lease: true }],
  },
  redis: openRedis(singleClient(library, Number(port))),
  deadline: 200,
})
for (let i = 0; i < 200; i++) await Promise.all(Array.from({ length: 20 }, () => limiter.take('hot')))
const inFlight = Array.from({ length: 100 }, (_, i) => limiter.take(`late-${i}`))
await limiter.close()
const settled = await Promise.allSettled(inFlight)
console.log(
  JSON.stringify({
    closed: true,
    settled: settled.length,
    exact: settled.filter((one) => one.status === 'fulfilled' && !one.value.degraded).length,
  }),
)
