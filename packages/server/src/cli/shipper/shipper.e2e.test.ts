import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAppender } from 'sluice/shipper'
import { type Collector, startCollector } from 'sluice/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildCli, runInOne as run } from '../testing/run-cli.ts'

let collector: Collector
beforeAll(async () => {
  buildCli()
  collector = await startCollector()
})
afterAll(() => collector.close())

const tempDir = () => mkdtempSync(join(tmpdir(), 'sluice-cli-shipper-'))
const stateOf = (dir: string) => JSON.parse(readFileSync(join(dir, '.backpressure-state'), 'utf8'))

async function filled(count: number): Promise<string> {
  const dir = join(tempDir(), 'buffer')
  const appender = await createAppender({ dir })
  for (let n = 0; n < count; n += 100)
    await Promise.all(Array.from({ length: Math.min(100, count - n) }, (_, i) => appender.append({ n: n + i })))
  await appender.close()
  return dir
}

test('append stores what comes on standard input, and names the lines that are no JSON', async () => {
  const dir = join(tempDir(), 'new')
  expect(await run(['shipper', 'append', '--dir', dir], { input: '{"a":0}' })).toMatchObject({
    code: 0,
    out: `1 stored in ${dir}\n`,
  })
  const { code, json } = await run(['shipper', 'append', '--dir', dir, '--json'], {
    input: '{"a":1}\n\nnope\n[2]\n',
  })
  expect(code).toBe(1)
  expect(json()).toMatchObject({ stored: 2, refused: [{ line: 3, reason: expect.stringContaining('JSON') }] })
})

test('status shows the screen of the original', async () => {
  const dir = await filled(3)
  const state = {
    backoffLevel: 4,
    nextAttemptAfter: Date.now() + 55_500,
    lastCapacity: { ready: false, maxBatchSize: 10, delayBetweenBatches: 5000, retryAfter: 30, loadPercent: 96.4 },
    consecutiveFailures: 4,
    lastSuccessTime: Date.now() - 120_500,
    pendingEventCount: 3,
  }
  writeFileSync(join(dir, '.backpressure-state'), JSON.stringify(state))
  for (const command of [['shipper', 'status'], ['backpressure']]) {
    const { code, out } = await run([...command, '--dir', dir])
    expect(code).toBe(0)
    expect(out).toMatch(/^Backpressure Status\n +Status: +Backing Off\n/)
    expect(out).toMatch(/Failures: +4 consecutive\n/)
    expect(out).toMatch(/Backoff level: +4\/10\n/)
    expect(out).toMatch(/Next attempt in: +\d+s\n/)
    expect(out).toMatch(/Last success: +2min( \d+s)? ago\n/)
    expect(out).toMatch(/Pending events: +3 /)
    expect(out).toMatch(
      /Last Server Response:\n +Ready: +No\n +Max batch: +0\n +Delay between: +5s\n +Server load: +96%\n/,
    )
  }
  const { json } = await run(['backpressure', '--dir', dir, '--json=true'])
  expect(json()).toMatchObject({ status: 'backing off', failures: 4, backoffLevel: 4, maxLevel: 10, pending: 3 })
})

test.each(['--reset', '--reset=true'])('%s lets the next flush try at once', async (reset) => {
  const dir = await filled(1)
  const state = {
    backoffLevel: 9,
    consecutiveFailures: 12,
    nextAttemptAfter: Date.now() + 300_000,
    pendingEventCount: 1,
  }
  writeFileSync(join(dir, '.backpressure-state'), JSON.stringify(state))
  expect((await run(['backpressure', '--dir', dir])).out).toMatch(/Status: +Circuit Open/)
  expect((await run(['backpressure', '--dir', dir, '--reset=false', '--json'])).json()).toMatchObject({
    backoffLevel: 9,
  })
  const { code, out } = await run(['backpressure', '--dir', dir, reset])
  expect(code).toBe(0)
  expect(out).toMatch(/Backoff level: +0\/10/)
  expect(stateOf(dir)).toMatchObject({ backoffLevel: 0, consecutiveFailures: 0, nextAttemptAfter: null })
})

test('flush sends everything and says so', async () => {
  const dir = await filled(250)
  const before = collector.events.size
  const { code, out } = await run(['shipper', 'flush', '--dir', dir, '--endpoint', collector.url, '-H', 'x-a: b'])
  expect({ code, out }).toEqual({ code: 0, out: 'Done: 250 sent, 0 left\n' })
  expect(collector.events.size - before).toBe(250)
  expect(collector.requests.at(-1)?.headers['x-a']).toBe('b')
  expect((await run(['shipper', 'status', '--dir', dir, '--json'])).json()).toMatchObject({
    pending: 0,
    status: 'ready',
  })
})

test('flush tells by its exit code that the server is away, and that the next attempt is not due', async () => {
  const dir = await filled(2)
  const away = ['shipper', 'flush', '--dir', dir, '--endpoint', 'http://127.0.0.1:9/v1/events']
  const failed = await run(away)
  expect(failed.code).toBe(3)
  expect(failed.out).toMatch(/^Failed: .*: 0 sent, 2 left; next attempt in /)
  // On a busy machine the wait of two seconds may be over before the next command has started.
  writeFileSync(
    join(dir, '.backpressure-state'),
    JSON.stringify({ ...stateOf(dir), nextAttemptAfter: Date.now() + 60_000 }),
  )
  expect((await run(away)).code).toBe(1)
})

test('verify finds damage, and with --repair sets it aside', async () => {
  const dir = await filled(5)
  expect((await run(['shipper', 'verify', '--dir', dir])).code).toBe(0)
  const file = join(dir, readdirSync(dir).find((name) => name.endsWith('.seg'))!)
  const bytes = readFileSync(file)
  bytes[125] = bytes[125]! ^ 0xff
  writeFileSync(file, bytes)
  const verified = await run(['shipper', 'verify', '--dir', dir, '--json'])
  expect(verified.code).toBe(1)
  expect(verified.json()).toMatchObject({ ok: false, events: 4, lost: 1, damage: [{ kind: 'damaged' }] })
  expect((await run(['shipper', 'verify', '--repair', '--dir', dir, '--json'])).json()).toMatchObject({
    kept: 4,
    lost: 1,
  })
  expect((await run(['shipper', 'verify', '--dir', dir])).code).toBe(0)
})

test('a segment that cannot be read is named by status, and flush ends with 1 and says which', async () => {
  const dir = await filled(3)
  const [segment = ''] = readdirSync(dir).filter((file) => file.endsWith('.seg'))
  renameSync(join(dir, segment), join(dir, 'aside'))
  // What stands in its place can be opened, but not read.
  mkdirSync(join(dir, segment))
  const { out } = await run(['shipper', 'status', '--dir', dir])
  expect(out).toContain(`Cannot be read:   ${segment}\n`)
  expect(out).toMatch(/Pending events: +at least 0\n/)
  const flush = await run(['shipper', 'flush', '--dir', dir, '--endpoint', collector.url])
  expect(flush).toMatchObject({
    code: 1,
    out: expect.stringMatching(/^Not all could be read: segment .* cannot be read/),
  })
  rmdirSync(join(dir, segment))
  renameSync(join(dir, 'aside'), join(dir, segment))
  const again = await run(['shipper', 'flush', '--dir', dir, '--endpoint', collector.url])
  expect(again).toMatchObject({ code: 0, out: 'Done: 3 sent, 0 left\n' })
})

test('a directory that is not there is named', async () => {
  const { code, err } = await run(['shipper', 'status', '--dir', '/nowhere'])
  expect(code).toBe(2)
  expect(err).toContain('there is no buffer in "/nowhere"')
})

test('a server that refuses every event makes flush end with 3, and most events stay in the buffer', async () => {
  const broken = await startCollector()
  broken.capacity = { ready: true, maxBatchSize: 100, delayBetweenBatches: 0 }
  broken.intercept = ({ path }, response) => {
    if (path.endsWith('/capacity')) return false
    response.writeHead(400).end('broken release')
    return true
  }
  const dir = await filled(300)
  const flush = await run(['shipper', 'flush', '--dir', dir, '--endpoint', broken.url, '--json'])
  expect({ code: flush.code, ...flush.json() }).toMatchObject({
    code: 3,
    outcome: 'failed',
    rejected: 100,
    pending: 200,
  })
  const { out } = await run(['shipper', 'status', '--dir', dir])
  expect(out).toMatch(/Status: +Backing Off\n +Failures: +1 consecutive\n/)
  expect(out).toMatch(/Last success: +never\n/)
  await broken.close()
})

test('rejected events are listed, sent again and dropped', async () => {
  const picky = await startCollector()
  picky.intercept = ({ path, body }, response) => {
    if (path.endsWith('/capacity')) return false
    const { events } = body as { events: { id: string; data: { n: number } }[] }
    const results = events.map(({ id, data: { n } }) =>
      n < 2 ? { id, status: 'ok' } : { id, status: 'rejected', reason: n === 2 ? 'unknown field' : 'too old' },
    )
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ results }))
    return true
  }
  const dir = await filled(4)
  expect((await run(['shipper', 'flush', '--dir', dir, '--endpoint', picky.url])).out).toContain('2 set aside')
  const listed = await run(['shipper', 'rejected', '--dir', dir])
  expect(listed.out).toMatch(/1 {2}unknown field\n1 {2}too old\n/)
  const { json } = await run(['shipper', 'rejected', '--dir', dir, '--reason', 'OLD', '--data', '--json'])
  expect(json()).toMatchObject({ total: 1, events: [{ reason: 'too old', data: { n: 3 } }] })
  for (const wrong of [['--drop'], ['--resend', '--drop', '--all']])
    expect((await run(['shipper', 'rejected', '--dir', dir, ...wrong])).code).toBe(2)
  const again = ['shipper', 'rejected', '--resend', '--dir', dir, '--endpoint', picky.url]
  expect((await run([...again, '--all'])).code).toBe(1)
  picky.intercept = undefined
  const resent = await run([...again, '--reason', 'unknown', '--json'])
  expect({ code: resent.code, ...resent.json() }).toEqual({
    code: 0,
    outcome: 'done',
    sent: 1,
    duplicates: 0,
    rejected: 0,
  })
  expect([...picky.events.values()].map(({ data }) => data)).toEqual([{ n: 2 }])
  expect((await run(['shipper', 'rejected', '--drop', '--dir', dir, '--all', '--json'])).json()).toEqual({
    dropped: 1,
  })
  expect((await run(['shipper', 'rejected', '--dir', dir])).out).toContain('Nothing was rejected')
  await picky.close()
})
