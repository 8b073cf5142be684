import type { Invalidation } from '../messages.ts'
import type { Mutation } from './mutation.ts'
import { type Answered, SimulatedProcess, type Watcher } from './process.ts'
import { keyNames, simulatedProofMs, World } from './world.ts'

export interface ScheduleResult {
  /** Answers that broke a promise, as text; empty if there are none. */
  readonly violations: readonly string[]
  readonly fresh: number
  readonly stale: number
  readonly acknowledged: number
  readonly rejected: number
  readonly set: number
}

const lengthMs = 1500
/** As long as a set with all its attempts can take. */
const longestSetMs = 3000
/** The keys of `getMany`; a single key is like `get`. */
const groups = [keyNames, keyNames.slice(0, 2), keyNames.slice(1, 2), keyNames.slice(3)]

/**
 * Runs one random schedule: three processes that read, set and invalidate while messages are lost, doubled and
 * reordered, processes pause, sleep and crash, and Redis is wiped, evicts and fails over.
 */
export function runSchedule(seed: number, mutation: Mutation = {}): ScheduleResult {
  const world = new World(seed, mutation)
  const { random } = world
  const violations: string[] = []
  const acknowledged = new Map<string, number>()
  const count = { fresh: 0, stale: 0, acknowledged: 0, rejected: 0, set: 0 }
  const knowledge: Map<string, number>[] = []
  const processes = [0, 1, 2].map((index) => {
    knowledge.push(new Map())
    // As during a deployment that makes proofs longer.
    const proofMs = simulatedProofMs * (index === 2 ? 2 : 1)
    const watcher: Watcher = {
      answered: (answer) => check(index, answer),
      wentBack: (key, from, to) =>
        violations.push(
          `seed ${seed}: process ${index} put version ${to.version} of ${key}, stored at ${to.madeAtMs} ms, in the ` +
            `place of version ${from.version}, made at ${from.madeAtMs} ms`,
        ),
    }
    return new SimulatedProcess(world, watcher, proofMs)
  })

  const check = (index: number, { key, version, stale }: Answered): void => {
    count[stale ? 'stale' : 'fresh'] += 1
    const promised = acknowledged.get(key) ?? 0
    if (!stale && version < promised)
      violations.push(
        `seed ${seed}: process ${index} read version ${version} of ${key} as fresh, ${promised} was acknowledged`,
      )
    const known = knowledge[index]!.get(key) ?? 0
    if (version < known)
      violations.push(
        `seed ${seed}: process ${index} read version ${version} of ${key}, it knew that ${known} replaced it`,
      )
  }

  const deliver = (index: number, message: Invalidation, versions: ReadonlyMap<string, number>): void => {
    const process = processes[index]!
    const before = process.view.position
    process.receive(message)
    const after = process.view.position
    // Known is what the process has applied, in the order of the log.
    if (after === undefined || after.generation !== message.generation || before?.generation !== message.generation)
      return
    if (before.sequence < message.sequence && after.sequence >= message.sequence)
      for (const [key, version] of versions)
        knowledge[index]!.set(key, Math.max(version, knowledge[index]!.get(key) ?? 0))
  }

  const published =
    (versions: ReadonlyMap<string, number>) =>
    (message: Invalidation): void => {
      for (let index = 0; index < processes.length; index++) {
        for (let copies = random.pick([0, 1, 1, 1, 1, 2]); copies > 0; copies--)
          world.after(world.delay(), () => deliver(index, message, versions))
      }
    }

  const acknowledge = (key: string, version: number, longestProofMs: number): void => {
    const waitMs = Math.max(simulatedProofMs, mutation.waitsForOwnProofs ? 0 : longestProofMs)
    world.after(mutation.acknowledgesEarly ? 0 : waitMs, () => {
      acknowledged.set(key, Math.max(version, acknowledged.get(key) ?? 0))
      count.acknowledged += 1
    })
  }

  const nextVersion = (key: string): number => {
    const version = world.database.get(key)! + 1
    world.database.set(key, version)
    return version
  }

  const write = (): void => {
    const index = random.below(processes.length)
    const key = random.pick(keyNames)
    const version = nextVersion(key)
    const target = random.pick(['key', 'key', 'prefix', 'tag'] as const)
    const scope = target === 'key' ? `k:${key}` : target === 'prefix' ? `p:${key.slice(0, 2)}` : `t:${key.slice(2)}`
    processes[index]!.invalidate(scope, published(new Map([[key, version]])), {
      done: (longestProofMs) => acknowledge(key, version, longestProofMs),
      // Although Redis did not confirm it, from now on this process must not answer with the value before it.
      rejected: () => {
        count.rejected += 1
        knowledge[index]!.set(key, Math.max(version, knowledge[index]!.get(key) ?? 0))
      },
    })
  }

  const producing = new Map<string, number>()
  const produce = (): void => {
    const key = random.pick(keyNames)
    // On a cluster, a key has one producer at a time: what happens when one of two dies half-way is a documented limit.
    if (world.isCluster && (producing.get(key) ?? 0) > world.nowMs) return
    producing.set(key, world.nowMs + longestSetMs)
    const announce = (message: Invalidation): number => {
      const version = nextVersion(key)
      published(new Map([[key, version]]))(message)
      return version
    }
    random.pick(processes).set(key, announce, (version, longestProofMs) => {
      count.set += 1
      acknowledge(key, version, longestProofMs)
    })
  }

  const trouble = (): void => {
    const index = random.below(processes.length)
    const process = processes[index]!
    const what = random.pick(['pause', 'suspend', 'crash', 'step', 'redis', 'redis'] as const)
    if (what === 'pause') process.machine.pause(random.below(250))
    else if (what === 'suspend') process.machine.suspend(50 + random.below(300))
    else if (what === 'step') process.machine.stepWallClock(random.below(400) - 200)
    else if (what === 'redis') world.strike()
    else {
      process.crash()
      knowledge[index]!.clear()
    }
  }

  for (const process of processes)
    for (let atMs = random.below(30); atMs < lengthMs; atMs += 20 + random.below(40))
      world.after(atMs, () => process.sync())
  const spread = (howMany: number, action: () => void): void => {
    for (let i = 0; i < howMany; i++) world.after(random.below(lengthMs), action)
  }
  spread(60, () => random.pick(processes).read(random.pick(keyNames)))
  spread(20, () => random.pick(processes).readMany(random.pick(groups)))
  spread(10, write)
  spread(5, produce)
  spread(random.below(6), trouble)
  // A burst of reads around and after each end of the waiting time finds copies that are kept too long.
  spread(20, () => {
    const key = random.pick(keyNames)
    for (const process of processes) process.read(key)
  })
  world.run(lengthMs + 500)
  return { violations, ...count }
}
