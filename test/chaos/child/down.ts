// Makes decisions while nothing listens at the port, and prints how much the resident memory grew.
// node --expose-gc --import tsx down.ts <library> <port> <decisions> <mode> [<subjects>]
import { createLimiter } from '../../../packages/sluice/src/limiter/create-limiter.ts'
import { openRedis } from '../../../packages/sluice/src/stores/redis/open-redis.ts'
import { type Library, singleClient } from '../clients.ts'

const [library, port, decisions, mode, different = '10000'] = process.argv.slice(2) as [
  Library,
  string,
  string,
  'open' | 'closed' | 'local',
  string?,
]
const subjects = Number(different)
const limiter = await createLimiter({
  policy: {
    service: 'down',
    rules: [{ name: 'r', limits: { rps: 20, rpm: 1000, rph: 50_000, rpd: 100_000 }, onStoreFailure: mode }],
  },
  redis: openRedis(singleClient(library, Number(port))),
  deadline: 100,
})

async function decide(count: number): Promise<number> {
  let degraded = 0
  for (let made = 0; made < count; made += 1000) {
    const some = await Promise.all(
      Array.from({ length: 1000 }, (_, i) => limiter.take(`user-${(made + i) % subjects}`)),
    )
    for (const decision of some) if (decision.degraded) degraded += 1
    // Lets timers and the connection run, as a server would.
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return degraded
}

const settle = async (): Promise<number> => {
  for (let i = 0; i < 5; i++) {
    globalThis.gc?.()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return process.memoryUsage().rss
}

// Code is compiled, pools and the young generation have reached their size.
await decide(20_000)
const before = await settle()
const degraded = await decide(Number(decisions))
const after = await settle()
console.log(JSON.stringify({ degraded, grownMb: (after - before) / 2 ** 20 }))
await limiter.close()
