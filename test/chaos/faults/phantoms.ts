import { startRedis } from '../../../packages/sluice/src/testing/servers/redis.ts'
import { libraries, singleClient } from '../clients.ts'
import { type Load, pause } from '../load.ts'
import { runTrial } from '../run.ts'
import type { Context, Row, Scenario } from '../scenario.ts'
import { inTurn } from './single.ts'

const decisions = 10_000

/** Freezes Redis, sends decisions until they have all timed out, and resumes Redis: nothing may have been charged. */
async function frozen(library: (typeof libraries)[number], context: Context): Promise<Row> {
  context.progress(`${library}: ${decisions} decisions while frozen`)
  const redis = await startRedis()
  const client = (): ReturnType<typeof singleClient> => singleClient(library, redis.port)
  try {
    return await runTrial(
      {
        fault: `${library}: ${decisions} decisions while frozen`,
        client,
        auditor: client,
        workers: 0,
        // The breaker would prevent most of them from being sent at all.
        options: { breaker: { failures: 1_000_000 } },
        inject: async (load: Load) => {
          await redis.freeze()
          const sent: Promise<void>[] = []
          while (sent.length < decisions) {
            for (let i = 0; i < 100; i++) sent.push(load.takeOnce())
            await pause(2)
          }
          await Promise.all(sent)
          redis.thaw()
          return undefined
        },
      },
      context,
    )
  } finally {
    await redis.stop()
  }
}

export const phantoms: readonly Scenario[] = [
  { name: 'phantoms', run: (context) => inTurn(libraries.map((library) => () => frozen(library, context))) },
]
