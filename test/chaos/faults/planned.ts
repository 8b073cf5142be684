import { createLimiter } from '../../../packages/sluice/src/limiter/create-limiter.ts'
import type { Limiter } from '../../../packages/sluice/src/limiter/limiter.ts'
import { openRedis } from '../../../packages/sluice/src/stores/redis/open-redis.ts'
import { respClient } from '../../../packages/sluice/src/testing/servers/resp.ts'
import { type SentinelServers, startSentinel } from '../../../packages/sluice/src/testing/servers/sentinel.ts'
import { waitFor } from '../../../packages/sluice/src/testing/wait-for.ts'
import { type Library, libraries, sentinelClient } from '../clients.ts'
import { pause } from '../load.ts'
import { chaosPolicy, sharedAmount } from '../policy.ts'
import { deadlineMs, exact, runTrial } from '../run.ts'
import type { Context, Row, Scenario } from '../scenario.ts'

/**
 * A client that was connected before a planned failover must count on the new master this soon after the sentinels name
 * it.
 */
const followWithinMs = 2000

async function tell(port: number, ...words: string[]): Promise<void> {
  const sentinel = respClient(port)
  await sentinel.call('SENTINEL', ...words)
  sentinel.close()
}

const lookEvery = async ({ sentinels }: SentinelServers, ms: number): Promise<void> => {
  for (const { port } of sentinels) await tell(port, 'DEBUG', 'info-period', String(ms))
}

/**
 * Sentinels demote the old master when they next check it, after 10 s by default: until then it accepts writes, and a
 * client that stays on it counts separately from all others.
 */
async function failOver(servers: SentinelServers, limiter: Limiter, fresh: () => Promise<Limiter>, cycle: number) {
  const old = await servers.settled()
  await lookEvery(servers, 10_000)
  await tell(servers.sentinels[0]!.port, 'FAILOVER', servers.name)
  await waitFor(async () => (await servers.master()) !== old, { describe: 'a new master', timeoutMs: 30_000 })
  const namedMs = performance.now()
  const later = await fresh()
  try {
    await exact(later)
    await later.take(`seen-${cycle}`, { rule: 'shared' })
    const seen = async (): Promise<boolean> =>
      (await limiter.peek(`seen-${cycle}`, { rule: 'shared' })).limits[0]?.remaining === sharedAmount - 1
    await waitFor(seen, { describe: 'who was there before to follow' })
    const tookMs = performance.now() - namedMs
    const isStillMaster = (await old.info('replication')).role === 'master'
    let admitted = 0
    for (let i = 0; i < 2 * sharedAmount; i++) {
      const decisions = await Promise.all(
        [limiter, later].map((each) => each.take(`both-${cycle}`, { rule: 'shared' })),
      )
      admitted += decisions.filter((decision) => decision.allowed).length
    }
    return { tookMs, isStillMaster, over: Math.max(0, admitted - sharedAmount) }
  } finally {
    await later.close()
    await lookEvery(servers, 500)
    await servers.settled()
  }
}

async function trial(servers: SentinelServers, library: Library, context: Context): Promise<Row> {
  const cycles = Math.min(context.cycles, library === 'ioredis' ? 5 : 2)
  const found: Awaited<ReturnType<typeof failOver>>[] = []
  const row = await runTrial(
    {
      fault: `${library}, Sentinel: planned failover, ${cycles} times`,
      client: () => sentinelClient(library, servers),
      auditor: () => sentinelClient('ioredis', servers),
      mayLoseReplies: true,
      mayLoseWrites: true,
      inject: async (_, limiter, service) => {
        const fresh = (): Promise<Limiter> =>
          createLimiter({
            policy: chaosPolicy(service),
            redis: openRedis(sentinelClient(library, servers)),
            denyCache: false,
            deadline: deadlineMs,
          })
        for (let cycle = 1; cycle <= cycles; cycle++) {
          context.progress(`${library}, Sentinel: planned failover, ${cycle} of ${cycles}`)
          await pause(200)
          found.push(await failOver(servers, limiter, fresh, cycle))
        }
        const slowest = Math.max(...found.map(({ tookMs }) => tookMs)).toFixed(0)
        const two = found.filter(({ isStillMaster }) => isStillMaster).length
        return `on the new master ${slowest} ms after it was named at the latest, the old one took writes in ${two}`
      },
    },
    context,
  )
  const over = found.reduce((sum, each) => sum + each.over, 0)
  const wrong = [...row.wrong]
  if (over > 0) wrong.push('two masters counted')
  if (context.judgeTime && library === 'ioredis' && found.some(({ tookMs }) => tookMs > followWithinMs))
    wrong.push('slow to follow')
  return { ...row, overAdmitted: row.overAdmitted + over, wrong }
}

/** A failover that an operator starts, while everything works. */
export const planned: readonly Scenario[] = libraries.map((library) => ({
  name: `sentinel-planned-${library}`,
  run: async (context) => {
    const servers = await startSentinel()
    try {
      return [await trial(servers, library, context)]
    } finally {
      await servers.stop()
    }
  },
}))
