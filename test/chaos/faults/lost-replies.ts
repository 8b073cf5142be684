import { startCluster } from '../../../packages/sluice/src/testing/servers/cluster.ts'
import { startRedis } from '../../../packages/sluice/src/testing/servers/redis.ts'
import { startTcpProxy, type TcpProxy } from '../../../packages/sluice/src/testing/tcp-proxy.ts'
import { clusterClient, type Library, libraries, singleClient } from '../clients.ts'
import { type Load, pause } from '../load.ts'
import { runTrial } from '../run.ts'
import type { Context, Row, Scenario } from '../scenario.ts'
import { inTurn } from './single.ts'

/** How many decisions each client makes that Redis answers; those whose reply is lost come in addition. */
const decisions = 100_000
/** Replies carry whole batches, so it takes only a few to lose many. */
const lossRate = 0.03

/** Continues until enough was answered while replies get lost. */
async function lose(proxies: readonly TcpProxy[], load: Load, context: Context): Promise<string> {
  for (const proxy of proxies) proxy.dropReplies(lossRate)
  const enough = decisions * context.scale
  const lane = async (): Promise<void> => {
    while (load.decisions - load.degraded < enough) {
      const { degraded } = load
      await Promise.all(Array.from({ length: 10 }, () => load.takeOnce()).concat(pause(1)))
      // A decision that fails at once because the connection is closed was never sent, and proves nothing.
      if (load.degraded > degraded) await pause(20)
    }
  }
  // Several, so that one with a closed connection does not delay the rest.
  await Promise.all(Array.from({ length: 20 }, lane))
  await Promise.all(proxies.map((proxy) => proxy.resume()))
  await pause(500)
  return `${proxies.reduce((sum, { stats }) => sum + stats.droppedReplies, 0)} replies lost`
}

// The breaker would answer most of them without Redis, and those prove nothing here.
const options = { breaker: { failures: 1_000_000 } }

async function onSingle(library: Library, context: Context): Promise<Row> {
  context.progress(`${library}: replies lost`)
  const redis = await startRedis()
  const proxy = await startTcpProxy({ targetPort: redis.port })
  try {
    const trial = {
      fault: `${library}: replies lost`,
      client: () => singleClient(library, proxy.port),
      auditor: () => singleClient(library, redis.port),
      inject: (load: Load) => lose([proxy], load, context),
      mayLoseReplies: true,
      options,
    }
    return await runTrial(trial, context)
  } finally {
    await proxy.close()
    await redis.stop()
  }
}

async function onCluster(context: Context): Promise<Row[]> {
  context.progress('starting a cluster')
  const cluster = await startCluster()
  const proxies = new Map<number, TcpProxy>()
  for (const { port } of cluster.nodes) proxies.set(port, await startTcpProxy({ targetPort: port }))
  const through = (port: number): number => proxies.get(port)!.port
  try {
    return await inTurn(
      libraries.map((library) => () => {
        context.progress(`${library}, cluster: replies lost`)
        const trial = {
          fault: `${library}, cluster: replies lost`,
          client: () => clusterClient(library, cluster, through),
          auditor: () => clusterClient('ioredis', cluster),
          inject: (load: Load) => lose([...proxies.values()], load, context),
          mayLoseReplies: true,
          options,
        }
        return runTrial(trial, context)
      }),
    )
  } finally {
    await Promise.all([...proxies.values()].map((proxy) => proxy.close()))
    await cluster.stop()
  }
}

export const lostReplies: readonly Scenario[] = [
  { name: 'lost-replies', run: (context) => inTurn(libraries.map((library) => () => onSingle(library, context))) },
  { name: 'lost-replies-cluster', run: onCluster },
]
