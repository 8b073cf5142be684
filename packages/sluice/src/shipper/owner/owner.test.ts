import { describe, expect, it, test } from 'vitest'
import { modelFiles } from '../../testing/shipper/model-files.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { isStale, type LockRecord, OwnerLock } from './owner-lock.ts'
import { livenessOf, type ProcessIdentity, startOf, thisProcess } from './process-identity.ts'

const self: ProcessIdentity = { machine: 'aaaaaaaaaaaaaaaa', pid: 1, started: 500 }
const lock: LockRecord = { ...self, pid: 7, instance: 'x', renewedMs: 1_000_000, uptimeMs: 50_000, released: false }
const time = { nowMs: 1_000_000, uptimeMs: 50_000, leaseMs: 10_000 }

describe('a lock is stale', () => {
  const cases: [string, boolean, Partial<LockRecord>, Partial<typeof time>, number | undefined][] = [
    ['never while its process runs and renews it', false, {}, {}, 500],
    ['at once when its process is gone', true, {}, {}, undefined],
    ['at once when another process has the pid', true, {}, {}, 501],
    ['when its process runs but has not renewed it, as when it is stopped', true, {}, { uptimeMs: 61_000 }, 500],
    ['at once when it was released', true, { released: true }, {}, 500],
    ['not because the wall clock jumped forward', false, {}, { nowMs: 99_000_000 }, 500],
    ['not because the wall clock jumped back', false, {}, { nowMs: 5 }, 500],
    ['from another container only when it expired, whatever its pid', false, { machine: 'b' }, {}, undefined],
    ['from another container when it expired', true, { machine: 'b' }, { nowMs: 1_010_001 }, undefined],
  ]
  it.each(cases)('%s: %s', (_, stale, record, at, started) => {
    expect(isStale({ ...lock, ...record }, self, { ...time, ...at }, () => started)).toBe(stale)
  })
})

test('the pid of a container that was started again does not make its old lock look alive', () => {
  // Both are pid 1; the namespace may even have got the same number again.
  const before = { ...self, pid: 1, started: 400 }
  expect(livenessOf(before, self, () => self.started)).toBe('dead')
})

test('this process is alive, and one that ended is not', () => {
  expect(livenessOf(thisProcess(), thisProcess())).toBe('alive')
  expect(startOf(4_999_999)).toBeUndefined()
})

async function emptyBuffer() {
  const fs = modelFiles()
  await fs.makeDir('/d')
  return fs
}

const lockOn = (fs: ReturnType<typeof modelFiles>, clock: ReturnType<typeof virtualClock>, pid: number) =>
  new OwnerLock({
    fs,
    dir: '/d',
    clock,
    leaseMs: 9000,
    // Started 0: it is unknown whether the process runs, so only expiry counts.
    identity: { ...thisProcess(), pid, started: 0 },
    uptimeMs: () => clock.monotonic(),
  })

test('of many that try at the same time one becomes the owner', async () => {
  const [fs, clock] = [await emptyBuffer(), virtualClock()]
  const locks = Array.from({ length: 20 }, () => lockOn(fs, clock, process.pid))
  const held = await Promise.all(locks.map((each) => each.acquire()))
  expect(held.filter(Boolean)).toHaveLength(1)
})

test('the owner renews its lock by itself; one that stops renewing is replaced, and notices it at once', async () => {
  const [fs, clock] = [await emptyBuffer(), virtualClock()]
  const [first, second] = [lockOn(fs, clock, process.pid), lockOn(fs, clock, process.pid)]
  expect(await first.acquire()).toBe(true)
  await clock.advance('60s')
  expect(await second.acquire()).toBe(false)
  // Stopped: time goes on, and its timers do not run.
  clock.tick('10s')
  expect(await second.acquire()).toBe(true)
  expect([first.isHeld, second.isHeld]).toEqual([false, true])
  expect(second.epoch).toBe(2)
  // Awake again: its timer fires, and must not disturb the new owner.
  await clock.advance('60s')
  expect([first.isHeld, second.isHeld]).toEqual([false, true])
  expect(await first.acquire()).toBe(false)
})

test('a released lock is free at once, and epochs only grow', async () => {
  const [fs, clock] = [await emptyBuffer(), virtualClock()]
  for (let epoch = 1; epoch <= 3; epoch++) {
    const owner = lockOn(fs, clock, process.pid)
    expect(await owner.acquire()).toBe(true)
    expect(owner.epoch).toBe(epoch)
    await owner.release()
  }
  expect([...fs.files.keys()].filter((path) => path.includes('owner-'))).toHaveLength(1)
})

test('a renewal that a power cut tore at any byte does not keep a dead owner in place', async () => {
  const clock = virtualClock()
  const dead = { ...thisProcess(), pid: 5_000_000, started: 1 }
  const options = { dir: '/d', clock, leaseMs: 9000, uptimeMs: () => clock.monotonic() }
  for (let cut = 0; cut <= 1024; cut += 8) {
    const fs = await emptyBuffer()
    const former = new OwnerLock({ ...options, fs, identity: dead })
    await former.acquire()
    const file = fs.files.get('/d/owner-000000000001')!
    const before = Buffer.from(file.data)
    await former.release()
    // New up to the cut and old from there on: `"released":false` over `true` reads as `truse`.
    before.copy(file.data, cut, cut)
    const next = new OwnerLock({ ...options, fs, identity: thisProcess() })
    expect({ cut, isOwner: await next.acquire() }).toEqual({ cut, isOwner: true })
    await next.release()
  }
})

test.each(['EPERM', 'ENOSYS', 'EOPNOTSUPP', 'EMLINK'])(
  'on a file system without hard links (%s) one of many becomes the owner, and another takes over from it',
  async (code) => {
    const [fs, clock] = [await emptyBuffer(), virtualClock()]
    fs.fault = (operation) => (operation === 'link' ? { code } : undefined)
    const locks = Array.from({ length: 20 }, () => lockOn(fs, clock, process.pid))
    const held = await Promise.all(locks.map((each) => each.acquire()))
    expect(held.filter(Boolean)).toHaveLength(1)
    clock.tick('10s')
    const second = lockOn(fs, clock, process.pid)
    expect([await second.acquire(), second.epoch]).toEqual([true, 2])
    expect(locks.filter(({ isHeld }) => isHeld)).toEqual([])
  },
)

test('without any space the lock of the former owner is taken over, by one of many', async () => {
  const [fs, clock] = [await emptyBuffer(), virtualClock()]
  const former = lockOn(fs, clock, process.pid)
  await former.acquire()
  clock.tick('10s')
  fs.fault = (operation, path) => (operation === 'write' && path.endsWith('.tmp') ? { code: 'ENOSPC' } : undefined)
  const locks = Array.from({ length: 20 }, () => lockOn(fs, clock, process.pid))
  await Promise.all(locks.map((each) => each.acquire()))
  expect(locks.filter(({ isHeld }) => isHeld)).toHaveLength(1)
  expect(former.isHeld).toBe(false)
  // It renews the lock as any owner does.
  await clock.advance('60s')
  expect(await lockOn(fs, clock, process.pid).acquire()).toBe(false)
})
