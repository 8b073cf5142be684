import { type ChildProcess, execFileSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../../packages/sluice/src/testing/servers/redis.ts'
import { pack } from '../packages/pack.ts'
import { type Replica, type Seen, startReplica, startVendor, type Vendor } from './fleet.ts'
import { installVersion, type Version, versions } from './versions.ts'

const isLong = process.env.SLUICE_UPGRADE === 'all'
const replicas = isLong ? 4 : 2
const rolls: Version[] = isLong
  ? ['present', 'next', 'present', 'next', 'later', 'next', 'later', 'next', 'later']
  : ['present', 'next', 'later', 'next']
/** How long each mix of versions is under load. */
const mixMs = isLong ? 2000 : 200
const timeout = isLong ? 900_000 : 240_000
/** Of every tight limit, and how often each process asks for it: all of them together exhaust it. */
const amount = 50
/** What the vendor allows at a time, see worker.mjs. */
const concurrency = 2
const tries = Math.ceil((amount * 1.5) / (replicas * rolls.length))

const children: ChildProcess[] = []
const workers = {} as Record<Version, string>
let redis: RedisServer
let vendor: Vendor

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-upgrade-'))
  execFileSync('tar', ['-xzf', pack('sluice', folder), '-C', folder])
  for (const version of versions) workers[version] = await installVersion(version, join(folder, 'package'), folder)
}, 240_000)
beforeEach(async () => {
  redis = await startRedis()
  vendor = await startVendor()
  return async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    await vendor.stop()
    await redis.stop()
  }
})

let started = 0
const start = (version: Version, asks = tries): Promise<Replica> =>
  startReplica(workers[version], `${version}-${++started}`, redis.port, vendor.url, asks, children)
const load = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, mixMs))
const total = (all: readonly Seen[], of: (seen: Seen) => number): number => all.reduce((sum, seen) => sum + of(seen), 0)

/** Replaces processes one by one by those of the next version in `through`. Returns what they saw, in order of end. */
async function roll(through: readonly Version[]): Promise<Seen[]> {
  const ended: Seen[] = []
  const running = await Promise.all(Array.from({ length: replicas }, () => start(through[0]!)))
  for (const version of through.slice(1))
    for (let i = 0; i < replicas; i++) {
      running.push(await start(version))
      await load()
      ended.push(await running.shift()!.stop())
    }
  for (const replica of running) ended.push(await replica.stop())
  return ended
}

describe('processes replaced one by one by the next version under load, and back', () => {
  it('decide exactly, call within limits, read nothing old and list everybody', { timeout }, async () => {
    const all = await roll(rolls)
    const [decisions, calls] = [total(all, (seen) => seen.decisions), total(all, (seen) => seen.calls)]
    console.log(`${all.length} processes: ${decisions} decisions, ${calls} calls`)
    expect(all).toHaveLength(replicas * rolls.length)
    expect(all.flatMap(({ failures }) => failures)).toEqual([])

    // Limiter: no degraded decision; tight limits are exhausted once, and the wide one has counted everything.
    expect(total(all, ({ degraded }) => degraded)).toBe(0)
    for (const rule of ['fixed-window', 'sliding-window', 'sliding-log', 'gcra'])
      expect([rule, total(all, ({ admitted }) => admitted[rule] ?? 0)]).toEqual([rule, amount])
    expect(all.at(-1)!.used).toBe(total(all, ({ admitted }) => admitted.wide ?? 0))

    // Egress: every call was made, and the vendor never had more at a time than it allows.
    expect(vendor.calls).toBe(calls)
    expect(vendor.most).toBe(concurrency)

    // Cache: versions read each other's copies, and nothing as fresh that was invalidated.
    expect(total(all, ({ fromRedis }) => fromRedis)).toBeGreaterThan(0)
    expect(total(all, ({ staleReads }) => staleReads)).toBe(0)

    // Presence: everybody was listed all the time, and nobody is left.
    expect(total(all, ({ notListed }) => notListed)).toBe(0)
    expect(all.at(-1)!.listed).toEqual([`${rolls.at(-1)}-${started}`])
  })
})

describe('a version beside one whose format it does not know', () => {
  it('says so, decides on its share, opens nothing and damages nothing', { timeout }, async () => {
    const later = await start('later', amount)
    await load()
    const older = await start('present', 10)
    await load()
    const seen = [await older.stop(), await later.stop()] as const
    expect(seen[0].failures).toEqual(
      expect.arrayContaining(['limiter format', 'egress format', 'cache format', 'list format']),
    )
    expect(seen[0].failures.filter((failure) => /script|wrongtype/.test(failure))).toEqual([])
    expect(total(seen, ({ staleReads }) => staleReads)).toBe(0)
    for (const rule of ['fixed-window', 'sliding-window', 'sliding-log', 'gcra'])
      expect([rule, (seen[0].admitted[rule] ?? 0) <= amount]).toEqual([rule, true])
    expect(vendor.most).toBeLessThanOrEqual(2 * concurrency)
    // The newer version has lost nothing.
    expect(seen[1].failures).toEqual([])
    expect(seen[1].used).toBe(seen[1].admitted.wide)
  })
})
