import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { modelFiles } from '../testing/shipper/model-files.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createAppender, createShipper, inspectBuffer } from './index.ts'
import type { ShipperOptions } from './options.ts'

const tempDir = () => join(mkdtempSync(join(tmpdir(), 'sluice-shipper-')), 'buffer')

async function open(dir: string, options: Partial<ShipperOptions> = {}) {
  const got: string[] = []
  const shipper = await createShipper({
    dir,
    flushInterval: false,
    send: async (events) => void got.push(...events.map(({ id }) => id)),
    capacity: async () => ({ ready: true, maxBatchSize: 1000, delayBetweenBatches: 0 }),
    backoff: { base: 0 },
    ...options,
  })
  return { shipper, got }
}

test.each(['/dev/null/buffer', '/proc/buffer', '/dev/null'])(
  'a directory that cannot be made (%s) is an error, at once',
  async (dir) => {
    const error = { code: 'SLUICE_BUFFER_FAILED', message: expect.stringContaining(dir) }
    await expect(createAppender({ dir })).rejects.toMatchObject(error)
    await expect(open(dir)).rejects.toMatchObject(error)
  },
)

test('a buffer stays where it is when the process changes its directory', async () => {
  const [folder, before] = [mkdtempSync(join(tmpdir(), 'sluice-shipper-')), process.cwd()]
  try {
    process.chdir(folder)
    const { shipper, got } = await open('buffer', { segmentBytes: 200 })
    const first = await shipper.ship({ text: 'x'.repeat(100) })
    process.chdir(before)
    const second = await shipper.ship({ text: 'x'.repeat(100) })
    expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 2 })
    expect(got).toEqual([first, second])
    await shipper.close()
  } finally {
    process.chdir(before)
    rmSync(folder, { recursive: true })
  }
})

test.each([500, 'no', false])('a send that returns %j has accepted nothing', async (returned) => {
  const { shipper } = await open(tempDir(), { send: async () => returned as never })
  await shipper.ship({ n: 1 })
  expect(await shipper.flush()).toMatchObject({
    outcome: 'failed',
    pending: 1,
    reason: `send() returned ${JSON.stringify(returned)}; return nothing, or an object such as { status: 200 }`,
  })
  await shipper.close()
})

test('send and capacity may answer without a promise', async () => {
  const capacity = (() => ({ ready: true, maxBatchSize: 10, delayBetweenBatches: 0 })) as never
  const { shipper } = await open(tempDir(), { send: (() => ({ status: 200 })) as never, capacity })
  await shipper.ship({ n: 1 })
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 1 })
  await shipper.close()
})

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 'soon'])('close refuses to drain for %j', async (within) => {
  const { shipper } = await open(tempDir())
  await expect(shipper.close({ within: within as never })).rejects.toMatchObject({ code: 'SLUICE_INVALID_OPTION' })
  await shipper.close()
})

test('the events of 600 hooks go out in full batches, with few files open at a time', {
  timeout: 120_000,
}, async () => {
  const dir = tempDir()
  const ids: string[] = []
  const hook = async (n: number) => {
    const appender = await createAppender({ dir, durability: 'os' })
    ids.push(await appender.append({ n }))
    await appender.close()
  }
  for (let n = 0; n < 600; n += 20) await Promise.all(Array.from({ length: 20 }, (_, i) => hook(n + i)))
  let mostOpen = 0
  let batches = 0
  const { shipper, got } = await open(dir, {
    send: async (events) => {
      got.push(...events.map(({ id }) => id))
      batches++
      mostOpen = Math.max(mostOpen, readdirSync('/proc/self/fd').length)
    },
    capacity: async () => ({ ready: true, maxBatchSize: 500, delayBetweenBatches: 0 }),
  })
  const before = readdirSync('/proc/self/fd').length
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained', sent: 600, pending: 0 })
  expect(new Set(got)).toEqual(new Set(ids))
  expect(batches).toBe(2)
  expect(mostOpen).toBeLessThan(before + 20)
  // Every hook was a producer: what is remembered of them stays small.
  const checkpoints = readdirSync(dir).filter((name) => name.startsWith('checkpoint-'))
  for (const file of checkpoints) expect(statSync(join(dir, file)).size).toBeLessThan(200_000)
  await shipper.close()
})

test('what is stored counts as pending also while the directory is being listed', async () => {
  const fs = modelFiles()
  let listed = Promise.resolve()
  const { shipper } = await open('/buffer', { fs: { ...fs, list: async (dir) => listed.then(() => fs.list(dir)) } })
  for (const count of [3, 2]) {
    let goOn = () => {}
    listed = new Promise((resolve) => {
      goOn = resolve
    })
    for (let n = 0; n < count; n++) await shipper.ship({ n })
    const flushed = shipper.flush()
    const during = new Set<number>()
    for (let turn = 0; turn < 20; turn++) {
      during.add(shipper.stats().pending)
      await new Promise((resolve) => setImmediate(resolve))
    }
    goOn()
    const { sent, pending } = await flushed
    expect({ during: [...during], sent, pending }).toEqual({ during: [count], sent: count, pending: 0 })
  }
  await shipper.close()
})

test('close right after ship: every event is stored, and its promise settled, before close returns', async () => {
  for (let round = 0; round < 10; round++) {
    const dir = tempDir()
    const { shipper } = await open(dir)
    let settled = 0
    const ship = () =>
      shipper.ship({ round }).then(
        () => settled++,
        // After close events are refused, which is an answer too.
        (error) => expect(error.code).toBe('SLUICE_CLOSED'),
      )
    void ship().then(ship)
    void ship()
    for (let turn = 0; turn < round % 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    const last = ship()
    await shipper.close()
    await last
    const stored = settled
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(settled).toBe(stored)
    expect((await inspectBuffer(dir)).pending).toBe(settled)
  }
})

test('after close nothing is stored, flushed or owned any more', async () => {
  const dir = tempDir()
  const { shipper, got } = await open(dir)
  await shipper.ship({ n: 1 })
  await shipper.close()
  await expect(shipper.ship({ n: 2 })).rejects.toMatchObject({ code: 'SLUICE_CLOSED' })
  expect(await shipper.flush()).toMatchObject({ outcome: 'stopped', sent: 0 })
  expect((await inspectBuffer(dir)).owner).toMatchObject({ isActive: false })
  expect(got).toEqual([])
  const report = await shipper.close()
  expect(report).toMatchObject({ pending: 1 })
  expect(report.bytesOnDisk).toBeGreaterThan(20)
})

test('a directory that is removed while the shipper runs is made again', async () => {
  const dir = tempDir()
  const { shipper, got } = await open(dir)
  await shipper.ship({ n: 1 })
  rmSync(dir, { recursive: true })
  const id = await shipper.ship({ n: 2 })
  await expect.poll(() => shipper.flush()).toMatchObject({ outcome: 'drained' })
  expect(got).toEqual([id])
  await shipper.close()
})

test('a send that never settles fails when its time is up, and does not keep close waiting', async () => {
  const dir = tempDir()
  const { shipper } = await open(dir, { timeout: 30, send: () => new Promise<never>(() => {}) })
  await shipper.ship({ n: 1 })
  expect(await shipper.flush()).toMatchObject({ outcome: 'failed', reason: 'no answer within 30 ms', pending: 1 })
  expect(await shipper.close()).toMatchObject({ pending: 1 })
})

test('headers that never come fail when their time is up', async () => {
  const dir = tempDir()
  const shipper = await createShipper({
    dir,
    endpoint: 'http://127.0.0.1:9/v1/events',
    flushInterval: false,
    timeout: 30,
    headers: () => new Promise<never>(() => {}),
  })
  await shipper.ship({ n: 1 })
  expect(await shipper.flush()).toMatchObject({ outcome: 'failed', reason: 'no answer within 30 ms' })
  await shipper.close()
})

test('a flush that is called during another one includes what was stored meanwhile', async () => {
  const dir = tempDir()
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const { shipper, got } = await open(dir, {
    send: async (events) => {
      await held
      got.push(...events.map(({ id }) => id))
    },
  })
  const first = await shipper.ship({ n: 1 })
  const one = shipper.flush()
  await new Promise((resolve) => setTimeout(resolve, 20))
  const second = await shipper.ship({ n: 2 })
  const [two, three] = [shipper.flush(), shipper.flush()]
  release()
  expect(await one).toMatchObject({ sent: 1 })
  expect(await two).toMatchObject({ sent: 1, pending: 0 })
  await three
  expect(got).toEqual([first, second])
  await shipper.close()
})

test('a flush ends although events keep coming', async () => {
  const dir = tempDir()
  const { shipper } = await open(dir, {
    capacity: async () => ({ ready: true, maxBatchSize: 5, delayBetweenBatches: 1 }),
  })
  let running = true
  const writer = (async () => {
    while (running) await shipper.ship({ text: 'x' })
  })()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(await shipper.flush()).toMatchObject({ outcome: 'drained' })
  running = false
  await writer
  await shipper.close()
})

test.each([
  [{ dir: '' }, 'createShipper.dir'],
  [{ dir: 'x' }, 'give either endpoint or send'],
  [{ dir: 'x', endpoint: 'ftp://x' }, 'http:// or https://'],
  [{ dir: 'x', endpoint: 'https://user:secret@x/' }, 'give credentials as headers'],
  [{ dir: 'x', endpoint: 'http://x', onFul: 'wait' }, 'did you mean "onFull"'],
  [{ dir: 'x', endpoint: 'http://x', durability: 'fsync' }, 'sync, interval, os'],
  [{ dir: 'x', endpoint: 'http://x', maxEventBytes: 0 }, 'createShipper.maxEventBytes'],
  [{ dir: 'x', endpoint: 'http://x', backoff: { jitter: 2 } }, 'createShipper.backoff.jitter'],
])('refuses %o', async (options, expected) => {
  await expect(createShipper(options as unknown as ShipperOptions)).rejects.toThrow(expected)
})

test('an error about an address with a password does not show the password', async () => {
  const error = await createShipper({ dir: 'x', endpoint: 'https://user:secret@x/' }).catch((thrown: Error) => thrown)
  expect(String((error as Error).message)).not.toContain('secret')
})

test('what happens while it starts can be observed by listeners that are added at once', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-start-'))
  writeFileSync(join(dir, '.backpressure-state'), '{"backoffLevel":')
  const shipper = await createShipper({ dir, flushInterval: false, send: async () => undefined })
  const seen: unknown[] = []
  shipper.on('stateDamaged', ({ savedAs }) => seen.push(savedAs))
  shipper.on('ownerChanged', ({ isOwner }) => seen.push(isOwner))
  await expect.poll(() => seen).toEqual([expect.stringMatching(/^\.backpressure-state\.damaged-/), true])
  await shipper.close()
  rmSync(dir, { recursive: true })
})

test.each([1, 50, 80])('a clock that is set back by %i minutes does not lengthen a wait', async (minutes) => {
  const [fs, clock] = [modelFiles(), virtualClock(Date.now())]
  let isUp = false
  const send = async () => {
    if (!isUp) throw new Error('down')
  }
  const options = { fs, clock, send, backoff: { base: '300s', jitter: 0 } } as const
  const { shipper } = await open('/buffer', options)
  await shipper.ship({ n: 1 })
  expect(await shipper.flush()).toMatchObject({ outcome: 'failed', nextAttemptInMs: 300_000 })
  await clock.advance('200s')
  clock.set(clock.now() / 1000 - minutes * 60_000)
  expect(shipper.stats().nextAttemptInMs).toBeLessThanOrEqual(100_000)
  await shipper.close()
  // A process that starts later does not know how long the other one has waited, but not more than the whole wait.
  const { shipper: second } = await open('/buffer', options)
  expect(await second.flush()).toMatchObject({ outcome: 'waiting' })
  expect(second.stats().nextAttemptInMs).toBeLessThanOrEqual(300_000)
  await second.close()
  // Nor do those after it wait longer: the time is recorded by the new clock.
  await clock.advance('300s')
  isUp = true
  const { shipper: third } = await open('/buffer', options)
  expect(await third.flush()).toMatchObject({ outcome: 'drained' })
  await third.close()
})

test('a flush whose send never settles ends after its timeout, and keeps the process alive until then', async () => {
  const source = new URL('./index.ts', import.meta.url).href
  const script = `
    import { createShipper } from '${source}'
    const shipper = await createShipper({
      dir: ${JSON.stringify(tempDir())}, flushInterval: false, timeout: '300ms', send: () => new Promise(() => {}),
    })
    await shipper.ship({ n: 1 })
    console.log((await shipper.flush()).reason)
    await shipper.close()`
  const args = ['--import', import.meta.resolve('tsx'), '--input-type=module', '-e', script]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(stdout).toBe('no answer within 300 ms\n')
})
