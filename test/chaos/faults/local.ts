import { Redis } from 'ioredis'
import { createLimiter } from '../../../packages/sluice/src/limiter/create-limiter.ts'
import type { Limiter } from '../../../packages/sluice/src/limiter/limiter.ts'
import { openRedis } from '../../../packages/sluice/src/stores/redis/open-redis.ts'
import { startRedis } from '../../../packages/sluice/src/testing/servers/redis.ts'
import { waitFor } from '../../../packages/sluice/src/testing/wait-for.ts'
import { pause } from '../load.ts'
import type { Context, Row, Scenario } from '../scenario.ts'

const replicas = 4
const amount = 1000
const windowMs = 3000

/**
 * Four replicas that have counted each other lose Redis for a whole window, and report to it afterwards what they
 * admitted.
 */
async function wholeWindow(context: Context): Promise<Row[]> {
  context.progress(`${replicas} replicas, Redis away for a whole window, local`)
  const redis = await startRedis()
  const limiters: Limiter[] = []
  try {
    const limits = [{ amount, per: `${windowMs}ms`, algorithm: 'fixed-window' as const, align: 'clock' as const }]
    const policy = { service: 'local', rules: [{ name: 'r', limits, onStoreFailure: 'local' as const }] }
    for (let i = 0; i < replicas; i++)
      limiters.push(
        await createLimiter({ policy, redis: openRedis(new Redis({ port: redis.port, lazyConnect: true })) }),
      )
    // Heartbeats are two seconds apart: by then all have counted all.
    await pause(3000)
    await redis.kill()
    const decide = (): Promise<number> =>
      Promise.all(limiters.flatMap((limiter) => Array.from({ length: 10 }, () => limiter.take('one')))).then(
        (all) => all.filter(({ allowed }) => allowed).length,
      )
    await decide()
    // From the start of the next window to its end.
    const startMs = Math.ceil(Date.now() / windowMs) * windowMs
    await waitFor(() => Date.now() >= startMs, { timeoutMs: 2 * windowMs })
    const endMs = startMs + windowMs
    let admitted = 0
    let decisions = 0
    while (Date.now() < endMs - 100) {
      admitted += await decide()
      decisions += 10 * replicas
      await pause(2)
    }
    await pause(200)
    await decide()
    await redis.restart()
    for (const limiter of limiters) await waitFor(async () => !(await limiter.peek('one')).degraded)
    const reported = await waitFor(async () => amount - (await limiters[0]!.peek('one')).limits[0]!.remaining > 0, {
      timeoutMs: windowMs,
    }).catch(() => false)
    const over = Math.max(0, admitted - amount - replicas)
    const wrong = [
      ...(over > 0 ? ['over-admitted'] : []),
      ...(admitted < amount ? ['under-admitted'] : []),
      ...(reported ? [] : ['nothing was reported']),
    ]
    const note = `${admitted} admitted of ${amount} (+ ${replicas} for rounding)`
    const none = { worstOverMs: 0, phantom: 0, unsettled: 0 }
    const fault = `${replicas} replicas, Redis away for a whole window, local`
    return [
      { fault, decisions, ...none, overAdmitted: over, underAdmitted: Math.max(0, amount - admitted), note, wrong },
    ]
  } finally {
    await Promise.all(limiters.map((limiter) => limiter.close()))
    await redis.stop()
  }
}

export const local: readonly Scenario[] = [{ name: 'local', run: wholeWindow }]
