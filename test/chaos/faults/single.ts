import { startRedis } from '../../../packages/sluice/src/testing/servers/redis.ts'
import { startTcpProxy, type TcpProxy } from '../../../packages/sluice/src/testing/tcp-proxy.ts'
import { type Library, libraries, singleClient } from '../clients.ts'
import { type Load, pause } from '../load.ts'
import { runTrial } from '../run.ts'
import type { Context, Row, Scenario } from '../scenario.ts'

type Inject = (proxy: TcpProxy, load: Load, context: Context) => Promise<void>

/** Faults of the network between a service and one Redis. */
const network: Readonly<Record<string, { inject: Inject; mayLoseReplies?: boolean }>> = {
  'connections cut, with a reset': {
    mayLoseReplies: true,
    inject: async (proxy, _, { scale }) => {
      for (let i = 0; i < 10 * scale; i++) {
        await pause(200)
        proxy.cut({ reset: i % 2 === 0 })
      }
    },
  },
  'connections refused for 2 s': {
    mayLoseReplies: true,
    inject: async (proxy, _, { scale }) => {
      await proxy.refuse()
      proxy.cut()
      await pause(2000 * scale)
      await proxy.resume()
    },
  },
  'network stalled for 2 s': {
    mayLoseReplies: true,
    inject: async (proxy) => {
      proxy.stall()
      await pause(2000)
      await proxy.resume()
    },
  },
  'connections half-closed': {
    mayLoseReplies: true,
    inject: async (proxy, _, { scale }) => {
      for (let i = 0; i < 6 * scale; i++) {
        await pause(300)
        proxy.halfClose(i % 2 === 0 ? 'client' : 'server')
      }
    },
  },
  'replies 600 ms late': {
    mayLoseReplies: true,
    inject: async (proxy) => {
      proxy.delay(600, 'replies')
      await pause(2000)
      await proxy.resume()
    },
  },
}

async function networkTrials(library: Library, context: Context): Promise<Row[]> {
  const redis = await startRedis()
  const proxy = await startTcpProxy({ targetPort: redis.port })
  const rows: Row[] = []
  try {
    for (const [fault, { inject, mayLoseReplies = false }] of Object.entries(network)) {
      context.progress(`${library}: ${fault}`)
      rows.push(
        await runTrial(
          {
            fault: `${library}: ${fault}`,
            client: () => singleClient(library, proxy.port),
            auditor: () => singleClient(library, redis.port),
            mayLoseReplies,
            inject: async (load) => {
              await pause(300)
              await inject(proxy, load, context)
              await pause(1000)
              return undefined
            },
          },
          context,
        ),
      )
    }
    return rows
  } finally {
    await proxy.close()
    await redis.stop()
  }
}

/** What happens to one Redis itself. */
async function serverTrials(library: Library, context: Context): Promise<Row[]> {
  const redis = await startRedis()
  const rows: Row[] = []
  const client = (): ReturnType<typeof singleClient> => singleClient(library, redis.port)
  const trial = async (fault: string, inject: (load: Load) => Promise<void>, more: object = {}): Promise<void> => {
    context.progress(`${library}: ${fault}`)
    const whole = async (load: Load): Promise<undefined> => {
      await pause(300)
      await inject(load)
      await pause(1000)
    }
    rows.push(
      await runTrial({ fault: `${library}: ${fault}`, client, auditor: client, inject: whole, ...more }, context),
    )
  }
  try {
    const frozenMs = 10_000 * context.scale
    await trial(
      `Redis frozen for ${frozenMs / 1000} s`,
      async () => {
        await redis.freeze()
        await pause(frozenMs)
        redis.thaw()
      },
      { mayLoseReplies: true },
    )
    await trial(
      'Redis killed and restarted empty',
      async (load) => {
        await redis.kill()
        await pause(1000)
        load.forget()
        await redis.restart()
      },
      { mayLoseReplies: true, isKept: (subject: string) => subject.startsWith('e1-') },
    )
    await trial('scripts flushed every 100 ms', async () => {
      for (let i = 0; i < 20 * context.scale; i++) {
        await redis.cli('SCRIPT', 'FLUSH')
        await pause(100)
      }
    })
    return rows
  } finally {
    await redis.stop()
  }
}

export const single: readonly Scenario[] = [
  {
    name: 'network',
    run: async (context) => (await inTurn(libraries.map((library) => () => networkTrials(library, context)))).flat(),
  },
  {
    name: 'server',
    run: async (context) => (await inTurn(libraries.map((library) => () => serverTrials(library, context)))).flat(),
  },
]

export async function inTurn<T>(work: readonly (() => Promise<T>)[]): Promise<T[]> {
  const done: T[] = []
  for (const one of work) done.push(await one())
  return done
}
