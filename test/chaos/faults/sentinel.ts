import { type SentinelServers, startSentinel } from '../../../packages/sluice/src/testing/servers/sentinel.ts'
import { waitFor } from '../../../packages/sluice/src/testing/wait-for.ts'
import { type Library, libraries, sentinelClient } from '../clients.ts'
import { type Load, pause } from '../load.ts'
import { runTrial } from '../run.ts'
import type { Context, Row, Scenario } from '../scenario.ts'
import { inTurn } from './single.ts'

/** Decisions must be exact again this soon after a new master was promoted. */
const exactWithinMs = 1000

type How = 'killed' | 'frozen'

/** Fails the master over, and returns how long after the promotion decisions were exact. */
async function failOver(servers: SentinelServers, how: How, load: Load): Promise<number> {
  const former = await servers.master()
  await (how === 'killed' ? former.kill() : former.freeze())
  load.watchForExact()
  // No client can know a new master before the sentinels announce it.
  await waitFor(async () => (await servers.master()) !== former, { describe: 'a promotion', timeoutMs: 30_000 })
  const promotedMs = performance.now()
  await waitFor(() => load.exactMs < Infinity, { describe: 'exact decisions' })
  const tookMs = load.exactMs - promotedMs
  await servers.settled()
  return Math.max(0, tookMs)
}

async function trial(servers: SentinelServers, library: Library, how: How, context: Context): Promise<Row> {
  // The Sentinel client of node-redis waits until the failover is over on all nodes, which may take seconds: its time
  // is not judged.
  const cycles = library === 'ioredis' ? context.cycles : Math.min(context.cycles, 3)
  const fault = `${library}, Sentinel: master ${how}, ${cycles} times`
  const tookMs: number[] = []
  const row = await runTrial(
    {
      fault,
      client: () => sentinelClient(library, servers),
      auditor: () => sentinelClient('ioredis', servers),
      mayLoseReplies: true,
      mayLoseWrites: true,
      inject: async (load) => {
        for (let cycle = 1; cycle <= cycles; cycle++) {
          context.progress(`${library}, Sentinel: master ${how}, ${cycle} of ${cycles}`)
          await pause(200)
          tookMs.push(await failOver(servers, how, load))
        }
        return `exact again ${Math.max(...tookMs).toFixed(0)} ms after promotion at the latest, in ${tookMs.filter((ms) => ms <= exactWithinMs).length} of ${cycles} within 1 s`
      },
    },
    context,
  )
  const isSlow = context.judgeTime && library === 'ioredis' && tookMs.some((ms) => ms > exactWithinMs)
  return isSlow ? { ...row, wrong: [...row.wrong, 'slow to follow'] } : row
}

export const sentinel: readonly Scenario[] = libraries.flatMap((library) =>
  (['killed', 'frozen'] as const).map((how) => ({
    name: `sentinel-${how}-${library}`,
    run: async (context: Context) => {
      context.progress('starting Sentinel')
      const servers = await startSentinel()
      try {
        return await inTurn([() => trial(servers, library, how, context)])
      } finally {
        await servers.stop()
      }
    },
  })),
)
