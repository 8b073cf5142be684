import { Redis } from 'ioredis'
import { createLimiter } from '../../packages/sluice/src/limiter/create-limiter.ts'
import { openRedis } from '../../packages/sluice/src/stores/redis/open-redis.ts'

// Waits in a process of its own, by the plan of its parent, and sends when each came and got through.
const [port, algorithm] = process.argv.slice(2)
const client = new Redis(Number(port))
const limits = algorithm === 'gcra' ? [{ amount: 100, per: '1s', burst: 1, algorithm }] : [{ amount: 20, per: '200ms' }]
const policy = { service: 'fair', rules: [{ name: 'r', limits }] }
const limiter = await createLimiter({ policy: policy as never, redis: openRedis(client, { reports: false }) })

/** The same clock in all processes of a machine. */
const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6

interface Plan {
  readonly atMs: number
  readonly count: number
  /** Until when each waits again when it got through. */
  readonly untilMs?: number
}

process.on('message', async (plans: readonly Plan[]) => {
  const startMs = nowMs()
  const waits: { cameMs: number; throughMs: number; allowed: boolean; by: string }[] = []
  async function waitInTurn(untilMs: number): Promise<void> {
    do {
      const cameMs = nowMs()
      const { allowed, by } = await limiter.wait('k')
      waits.push({ cameMs, throughMs: nowMs(), allowed, by })
    } while (nowMs() < startMs + untilMs)
  }
  await Promise.all(
    plans.map(async ({ atMs, count, untilMs = 0 }) => {
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, startMs + atMs - nowMs())))
      await Promise.all(Array.from({ length: count }, () => waitInTurn(untilMs)))
    }),
  )
  process.send!(waits)
  await limiter.close()
  client.disconnect()
  process.disconnect()
})
process.send!('ready')
