import { setTimeout as sleep } from 'node:timers/promises'
import type { RedisServer } from '../../packages/sluice/src/testing/servers/redis.ts'
import { startRedis } from '../../packages/sluice/src/testing/servers/redis.ts'
import { startSentinel } from '../../packages/sluice/src/testing/servers/sentinel.ts'
import { waitFor } from '../../packages/sluice/src/testing/wait-for.ts'
import { Fleet, type FleetOptions } from './fleet.ts'
import { type Finding, judge, judgeEstimated } from './judge.ts'

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
  quiet: async () => {},
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
  'Redis loses its memory': async ({ redis }) => {
    await redis.cli('FLUSHALL')
  },
  "Redis' clock leaps by 5 s": async ({ redis }) => {
    await redis.cli('SET', 'leap', 5)
    await sleep(2000)
    await redis.cli('SET', 'leap', 0)
  },
}

async function withFleet(
  options: Partial<FleetOptions>,
  forMs: number,
  act: (setting: Setting) => Promise<void>,
): Promise<Finding> {
  const redis = await startRedis()
  const fleet = await Fleet.start({
    processes: 4,
    workersEach: 50,
    rps: 25,
    redis: { redisPort: redis.port },
    ...options,
  })
  try {
    const fromMs = performance.now()
    await sleep(forMs / 3)
    await act({ fleet, redis, forMs })
    await sleep(Math.max(forMs / 3, fromMs + forMs - performance.now()))
    return judge(fleet, await fleet.reports(), { limit: options.rps ?? 25, answerMs: options.answerMs ?? 5 })
  } finally {
    await fleet.stop()
    await redis.stop()
  }
}

const slowVendor: Scenario = {
  name: 'the vendor answers after 150 ms',
  run: (forMs) => withFleet({ answerMs: 150 }, forMs, async () => {}),
}

const estimated: Scenario = {
  name: 'bound: estimated, the vendor answers after 150 ms',
  async run(forMs) {
    const redis = await startRedis()
    const fleet = await Fleet.start({
      ...{ processes: 4, workersEach: 50, rps: 25, answerMs: 150, bound: 'estimated' },
      redis: { redisPort: redis.port },
    })
    try {
      await sleep(forMs)
      return judgeEstimated(fleet, await fleet.reports(), 25)
    } finally {
      await fleet.stop()
      await redis.stop()
    }
  },
}

/** Judged from a second after the last process applied the new limit. */
const limitChanges: Scenario = {
  name: 'the limit changes from 25 to 10',
  async run(forMs) {
    const redis = await startRedis()
    const fleet = await Fleet.start({ processes: 4, workersEach: 50, rps: 25, redis: { redisPort: redis.port } })
    try {
      await sleep(forMs / 3)
      const before = judge(fleet, [], { limit: 25, answerMs: 5 })
      fleet.writePolicy(10, 'second')
      await waitFor(async () => (await fleet.reports()).every(({ version }) => version === 'second'))
      const sinceMs = performance.now() + 1000
      await sleep(forMs / 2)
      const after = judge(fleet, await fleet.reports(), { limit: 10, answerMs: 5, sinceMs })
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
      ...{ processes: 4, workersEach: 50, rps: 25 },
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
      return judge(fleet, await fleet.reports(), { limit: 25, answerMs: 5 })
    } finally {
      await fleet.stop()
      await servers.stop()
    }
  },
}

export const scenarios: readonly Scenario[] = [
  ...Object.entries(faults).map(([name, act]) => ({ name, run: (forMs: number) => withFleet({}, forMs, act) })),
  slowVendor,
  limitChanges,
  failover,
  estimated,
]
