import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisServer } from '../../packages/sluice/src/testing/servers/redis.ts'
import { startRedis } from '../../packages/sluice/src/testing/servers/redis.ts'
import { startSentinel } from '../../packages/sluice/src/testing/servers/sentinel.ts'
import { waitFor } from '../../packages/sluice/src/testing/wait-for.ts'
import { Fleet, type FleetOptions } from './fleet.ts'
import { type Finding, judge } from './judge.ts'
import { machineMs } from './settings.ts'

export interface Scenario {
  readonly name: string
  /** Runs it for about so long, and returns what the vendor saw. */
  run(forMs: number): Promise<Finding>
}

interface Setting {
  readonly fleet: Fleet
  readonly redis: RedisServer
  readonly forMs: number
}

/** Faults while the fleet is running. Each lasts for a third of the time, after another third without faults. */
const faults: Readonly<Record<string, (setting: Setting) => Promise<void>>> = {
  'one process is killed': async ({ fleet }) => {
    await fleet.kill(fleet.processes[0]!)
    await sleep(2000)
    await fleet.add()
  },
  'one process is stopped for 2 s': async ({ fleet }) => {
    fleet.processes[0]!.kill('SIGSTOP')
    await sleep(2000)
    fleet.processes[0]!.kill('SIGCONT')
  },
  'one process is stopped for 8 s': async ({ fleet }) => {
    fleet.processes[0]!.kill('SIGSTOP')
    await sleep(8000)
    fleet.processes[0]!.kill('SIGCONT')
  },
  'event loops stall by 50 to 300 ms': async ({ fleet }) => fleet.order({ do: 'stall' }),
  'callers give up at random': async ({ fleet, forMs }) => {
    fleet.order({ do: 'abort', share: 0.5 })
    await sleep(forMs / 3)
    fleet.order({ do: 'abort', share: 0 })
  },
  'Redis is frozen for 5 s': async ({ redis }) => {
    await redis.freeze()
    await sleep(5000)
    redis.thaw()
  },
  'Redis is killed and comes back empty': async ({ redis }) => {
    await redis.kill()
    await sleep(1000)
    await redis.restart()
  },
  ...Object.fromEntries(
    [0.04, 0.09, 0.9, 5].map((seconds) => [
      `Redis' clock jumps by ${seconds} s and back`,
      async ({ redis }: Setting) => {
        await redis.cli('SET', 'leap', seconds)
        await sleep(2000)
        await redis.cli('SET', 'leap', 0)
      },
    ]),
  ),
}

async function withFleet(
  options: Partial<FleetOptions>,
  forMs: number,
  act: (setting: Setting) => Promise<void>,
  expected: Partial<Parameters<typeof judge>[2]> = {},
): Promise<Finding> {
  const redis = await startRedis()
  const { answerMs = 0, processes = 4 } = options
  const limits = { rps: 25 }
  // Enough callers for what is in flight, and for some to wait on every process.
  const workersEach = Math.ceil((25 * (answerMs / 1000 + 2)) / processes) + 10
  const fleet = await Fleet.start({ processes, workersEach, limits, redis: { redisPort: redis.port }, ...options })
  try {
    const fromMs = performance.now()
    await sleep(forMs / 3)
    await act({ fleet, redis, forMs })
    await sleep(Math.max(forMs / 3, fromMs + forMs - performance.now()))
    return await judge(fleet, await fleet.reports(), { limit: 25, ...expected })
  } finally {
    await fleet.stop()
    await redis.stop()
  }
}

const nothing = async (): Promise<void> => {}

/** A vendor of every latency, with and without a relay that delays data by 0 to 20 ms. */
const latencies: readonly Scenario[] = [0, 100, 500, 2000, 10_000].flatMap((answerMs) =>
  [1, 4].flatMap((processes) =>
    [undefined, 20].map((relayMs) => ({
      name: `answers after ${answerMs} ms, ${processes} processes${relayMs === undefined ? '' : ', behind a relay'}`,
      run: (forMs: number) =>
        withFleet(
          { answerMs, processes, ...(relayMs === undefined ? {} : { relayMs }) },
          forMs + 2 * answerMs,
          nothing,
          { wanted: 24 },
        ),
    })),
  ),
)

/** Calls before the start are not known, so the first minute is paced; the first call comes within 3 s. */
const longLimit: Scenario = {
  name: '1,000 in a minute beside 25 in a second, from a fresh Redis',
  async run(forMs) {
    let firstMs = 0
    const look = async ({ fleet }: Setting): Promise<void> => {
      firstMs = (await fleet.seen()).arrivals[0]! - fleet.startedMs
    }
    const found = await withFleet({ limits: { rps: 25, rpm: 1000 }, answerMs: 500 }, forMs, look, { wanted: 15 })
    return { ...found, late: firstMs > 3000 ? [`the first call came after ${Math.round(firstMs)} ms`] : [] }
  },
}

/** Calls go on within 3 s. */
const losesMemory: readonly Scenario[] = [0, 1000].map((answerMs) => ({
  name: `Redis loses its memory, answers after ${answerMs} ms`,
  async run(forMs) {
    let againMs = 0
    const lose = async ({ fleet, redis }: Setting): Promise<void> => {
      await redis.cli('FLUSHALL')
      const lostMs = machineMs()
      await sleep(6000)
      const since = (await fleet.seen()).arrivals.filter((at) => at > lostMs)
      // What was granted before arrives within a second and a half; nothing is granted for longer than that.
      againMs = (since.find((at) => at > lostMs + 1500) ?? Infinity) - lostMs
    }
    const found = await withFleet({ answerMs }, forMs, lose)
    return { ...found, late: againMs > 3000 ? [`calls went on after ${Math.round(againMs)} ms`] : [] }
  },
}))

const deploys: Scenario = {
  name: '20 in 10 s, all processes replaced every 6 s',
  run: (forMs) =>
    withFleet(
      { limits: { amount: 20, per: '10s' }, processes: 2, workersEach: 20 },
      Math.max(45_000, forMs),
      async ({ fleet, forMs: ms }) => {
        const endMs = performance.now() + ms
        while (performance.now() < endMs) {
          const old = [...fleet.processes]
          await Promise.all([fleet.add(), fleet.add()])
          await Promise.all(old.map((child) => fleet.end(child)))
          await sleep(6000)
        }
      },
      { limit: 20, periodMs: 10_000, wanted: 18 },
    ),
}

const honest: Scenario = {
  name: 'the vendor reports what is left',
  run: (forMs) => withFleet({ answerMs: 20, reports: { amount: 25, periodMs: 1000 } }, forMs, nothing, { wanted: 24 }),
}

/** Judged from a second after the last process applied the new limit. */
const limitChanges: Scenario = {
  name: 'the limit changes from 25 to 10',
  async run(forMs) {
    const redis = await startRedis()
    const limits = { rps: 25 }
    const fleet = await Fleet.start({ processes: 4, workersEach: 20, limits, redis: { redisPort: redis.port } })
    try {
      await sleep(forMs / 3)
      const before = await judge(fleet, [], { limit: 25 })
      fleet.writePolicy({ rps: 10 }, 'second')
      await waitFor(async () => (await fleet.reports()).every(({ version }) => version === 'second'))
      const sinceMs = machineMs() + 1000
      await sleep(forMs / 2)
      const after = await judge(fleet, await fleet.reports(), { limit: 10, sinceMs })
      return { ...after, wrong: [...before.wrong, ...after.wrong] }
    } finally {
      await fleet.stop()
      await redis.stop()
    }
  },
}

/** The replica that takes over has a clock 5 s ahead: the scripts of the test add what is in a key that only it has. */
const failover: Scenario = {
  name: 'a failover to a master whose clock is 5 s ahead',
  async run(forMs) {
    const servers = await startSentinel()
    const master = await servers.master()
    const { sentinels, name } = servers
    const fleet = await Fleet.start({
      ...{ processes: 4, workersEach: 20, limits: { rps: 25 } },
      redis: { sentinels, masterName: name },
    })
    try {
      await sleep(forMs / 3)
      for (const node of servers.nodes) {
        if (node === master) continue
        await node.cli('CONFIG', 'SET', 'replica-read-only', 'no')
        await node.cli('SET', 'leap', 5)
      }
      await master.kill()
      await sleep((forMs * 2) / 3)
      return await judge(fleet, await fleet.reports(), { limit: 25 })
    } finally {
      await fleet.stop()
      await servers.stop()
    }
  },
}

export const scenarios: readonly Scenario[] = [
  ...latencies,
  ...Object.entries(faults).flatMap(([name, act]) =>
    [0, 1000].map((answerMs) => ({
      name: `${name}, answers after ${answerMs} ms`,
      run: (forMs: number) => withFleet({ answerMs }, forMs, act),
    })),
  ),
  ...losesMemory,
  honest,
  deploys,
  longLimit,
  limitChanges,
  failover,
]
