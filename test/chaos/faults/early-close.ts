import { storeOf } from 'sluice/store'
import { createLimiter } from '../../../packages/sluice/src/limiter/create-limiter.ts'
import { openRedis } from '../../../packages/sluice/src/stores/redis/open-redis.ts'
import { startRedis } from '../../../packages/sluice/src/testing/servers/redis.ts'
import { waitFor } from '../../../packages/sluice/src/testing/wait-for.ts'
import { type Library, libraries, singleClient } from '../clients.ts'
import { pause } from '../load.ts'
import { chaosPolicy } from '../policy.ts'
import type { Context, Row, Scenario } from '../scenario.ts'
import { inTurn } from './single.ts'

/** Opens and closes limiters at every moment of connecting: no connection may stay open, and no promise unsettled. */
async function trial(library: Library, context: Context): Promise<Row> {
  const rounds = Math.max(60, Math.round(1000 * context.scale))
  const fault = `${library}: ${rounds} limiters closed while they connect`
  context.progress(fault)
  const redis = await startRedis()
  const connections = async (): Promise<number> => Number((await redis.info('clients')).connected_clients)
  let unsettled = 0
  let decisions = 0
  const once = async (n: number): Promise<void> => {
    const store = storeOf(openRedis(singleClient(library, redis.port)))
    const limiter = await createLimiter({ policy: chaosPolicy('early'), store, deadline: 500 })
    // Every other one also makes a decision.
    const asked = n % 2 === 0 ? undefined : limiter.take('a', { rule: 'shared' })
    await pause([0, 0, 1, 2, 5, 20][n % 6]!)
    await Promise.all([limiter.close(), store.close()])
    if (asked === undefined) return
    decisions += 1
    unsettled += 1
    await asked
    unsettled -= 1
  }
  try {
    const before = await connections()
    for (let n = 0; n < rounds; n += 10) await Promise.all(Array.from({ length: 10 }, (_, i) => once(n + i)))
    const isBack = async (): Promise<boolean> => (await connections()) <= before
    const left = await waitFor(isBack).then(
      () => 0,
      async () => (await connections()) - before,
    )
    return {
      fault,
      decisions,
      worstOverMs: 0,
      overAdmitted: 0,
      underAdmitted: 0,
      phantom: 0,
      unsettled,
      note: `${left} connections left`,
      wrong: left > 0 ? ['connections left'] : [],
    }
  } finally {
    await redis.stop()
  }
}

export const earlyClose: readonly Scenario[] = [
  { name: 'early-close', run: (context) => inTurn(libraries.map((library) => () => trial(library, context))) },
]
