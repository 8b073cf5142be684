import { createHash } from 'node:crypto'
import { createLimiter } from '../../../packages/sluice/src/limiter/create-limiter.ts'
import type { Limiter } from '../../../packages/sluice/src/limiter/limiter.ts'
import { systemClock } from '../../../packages/sluice/src/runtime/system-clock.ts'
import { memoryStore } from '../../../packages/sluice/src/stores/memory/memory-store.ts'
import { decide } from '../../../packages/sluice/src/stores/redis/scripts.gen.ts'
import { startRedis } from '../../../packages/sluice/src/testing/servers/redis.ts'
import { type Library, libraries, singleClient } from '../clients.ts'
import { pause } from '../load.ts'
import { periodMs, sharedAmount } from '../policy.ts'
import { runTrial } from '../run.ts'
import type { Context, Row, Scenario } from '../scenario.ts'
import { inTurn } from './single.ts'

const leapS = 600

/** Makes the time of the deciding script the server's plus the value of a key, while `work` runs. */
async function withLeapingClock<T>(work: () => Promise<T>): Promise<T> {
  const { source, sha1 } = decide
  const leaping = source.replace(/(local clock = .*)\n/, "$1 + (tonumber(redis.call('GET', 'leap') or 0)) * 1000000\n")
  if (leaping === source) throw new Error('the script reads its time in another way now')
  Object.assign(decide, { source: leaping, sha1: createHash('sha1').update(leaping).digest('hex') })
  try {
    return await work()
  } finally {
    Object.assign(decide, { source, sha1 })
  }
}

/** Checks whether a subject that was filled while the clock was ahead reports how long it really has to wait. */
async function reportsTheWholeWait(limiter: Limiter, fill: () => Promise<unknown>): Promise<boolean> {
  const isFull = async (): Promise<number> => {
    const decision = await limiter.take('ahead', { rule: 'shared' })
    return decision.allowed ? 0 : decision.retryAfterMs
  }
  await limiter.take('ahead', { rule: 'shared', cost: sharedAmount })
  await fill()
  // The clock has to catch up with the subject first, and then the window has to end.
  return (await isFull()) > periodMs
}

async function redisTrial(library: Library, context: Context): Promise<Row> {
  const redis = await startRedis()
  const client = (): ReturnType<typeof singleClient> => singleClient(library, redis.port)
  const leaps = Math.max(2, Math.round(20 * context.scale))
  const fault = `${library}: Redis' clock leaps by ${leapS} s to and fro, ${leaps} times`
  context.progress(fault)
  let isWaitRight = true
  try {
    const row = await runTrial(
      {
        fault,
        client,
        auditor: client,
        clockLeaps: true,
        inject: async (load, limiter) => {
          for (let leap = 0; leap < leaps; leap++) {
            await redis.cli('SET', 'leap', (leap % 2 === 0 ? 1 : -1) * leapS)
            await pause(200)
            if (leap === 0) isWaitRight = await reportsTheWholeWait(limiter, () => redis.cli('SET', 'leap', 0))
            await redis.cli('SET', 'leap', 0)
            await pause(200)
          }
          return `${load.degraded} degraded`
        },
      },
      context,
    )
    return isWaitRight ? row : { ...row, wrong: [...row.wrong, 'a wrong retryAfterMs'] }
  } finally {
    await redis.stop()
  }
}

/** The wall clock of a process is an hour ahead for a moment, or back: no subject may be denied for that hour. */
async function memoryTrial(context: Context): Promise<Row> {
  const amount = 20
  const windowMs = 200
  const algorithms = ['fixed-window', 'sliding-window', 'sliding-log', 'gcra'] as const
  const rounds = Math.max(4, Math.round(40 * context.scale))
  const fault = `memory: the wall clock leaps by an hour to and fro, ${rounds} times`
  context.progress(fault)
  let leapMs = 0
  const clock = systemClock({ wall: () => Date.now() + leapMs, monotonic: () => performance.now() })
  const store = memoryStore({ clock })
  const limiter = await createLimiter({
    clock,
    store,
    policy: {
      service: 'leaps',
      rules: algorithms.map((algorithm) => ({
        name: algorithm,
        limits: [{ amount, per: `${windowMs}ms`, algorithm }],
      })),
    },
  })
  const startMs = performance.now()
  const admitted = new Map<string, number>(algorithms.map((algorithm) => [algorithm, 0]))
  let decisions = 0
  const burst = async (): Promise<void> => {
    for (let i = 0; i < 2 * amount; i++) {
      for (const rule of algorithms) {
        decisions += 1
        if ((await limiter.take('one', { rule })).allowed) admitted.set(rule, admitted.get(rule)! + 1)
      }
    }
  }
  const wrong: string[] = []
  for (let round = 0; round < rounds; round++) {
    leapMs = round % 2 === 0 ? 3_600_000 : -3_600_000
    await burst()
    leapMs = 0
    await burst()
    await pause(2 * windowMs + 20)
    const before = new Map(admitted)
    await burst()
    for (const rule of algorithms) if (admitted.get(rule) === before.get(rule)) wrong.push(`${rule} locked out`)
  }
  const windows = Math.ceil((performance.now() - startMs) / windowMs) + 1
  // After a jump of the clock, a window that begins again is the price of following clocks at all.
  const most = (windows + 2 * rounds) * amount
  const over = algorithms.reduce((sum, rule) => sum + Math.max(0, admitted.get(rule)! - most), 0)
  await limiter.close()
  await store.close()
  return {
    fault,
    decisions,
    worstOverMs: 0,
    overAdmitted: over,
    underAdmitted: 0,
    phantom: 0,
    unsettled: 0,
    note: '',
    wrong: [...new Set(wrong)],
  }
}

export const clocks: readonly Scenario[] = [
  {
    name: 'clocks',
    run: async (context) => [
      await memoryTrial(context),
      ...(await withLeapingClock(() => inTurn(libraries.map((library) => () => redisTrial(library, context))))),
    ],
  },
]
