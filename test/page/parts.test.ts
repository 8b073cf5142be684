import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { createLimiter } from 'sluice'
import { createBreakers } from 'sluice/breaker'
import { openRedis } from 'sluice/redis'
import { createShipper } from 'sluice/shipper'
import { startRedis } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { send } from '../../packages/server/src/testing/started.ts'
import { seriousFindings, sidewaysScroll } from './accessibility.ts'
import { closeViews, openView, picture, signIn, startDaemon } from './browser.ts'

const hostile = '<img src=x onerror=alert(1)>'
const sections = [
  {
    kind: 'egress',
    name: '',
    stats: [
      {
        name: 'vendor-graphql',
        depth: 34,
        waitMs: { p50: 200, p99: 2300, max: 4000 },
        inFlight: 8,
        ratePerSecond: 24.8,
        limits: [{ name: 'rps', used: 25, amount: 25, periodMs: 1000 }],
      },
      { name: 'billing', depth: 0, waitMs: { p99: 0 }, inFlight: 1, ratePerSecond: 2, limits: [], pausedMs: 12_000 },
    ],
  },
  {
    kind: 'cache',
    name: 'prices',
    stats: {
      hits: { memory: 9000, redis: 700 },
      misses: 300,
      fetchErrors: 2,
      memory: { entries: 1200, bytes: 3_400_000 },
      redis: 'up',
    },
  },
  {
    kind: 'cache',
    name: 'profiles',
    stats: { hits: { memory: 10 }, misses: 5, memory: { entries: 4, bytes: 900 }, redis: 'down' },
  },
  {
    kind: 'breaker',
    name: 'models',
    stats: [
      { key: 'sentiment-v2', state: 'closed', succeeded: 900, failed: 3, rejected: 0, inFlight: 2, retryAfterMs: 0 },
      { key: hostile, state: 'open', succeeded: 10, failed: 30, rejected: 12, inFlight: 0, retryAfterMs: 8000 },
    ],
  },
  {
    kind: 'capacity',
    name: 'ingest',
    stats: {
      ready: true,
      admitShare: 0.7,
      senders: 12,
      load: { percent: 88, cause: 'event loop delay 84 ms' },
      shed: { bulk: 44 },
    },
  },
  {
    kind: 'shipper',
    name: 'events',
    stats: {
      isOwner: true,
      pending: 1840,
      oldestAgeMs: 65_000,
      inPerSecond: 40,
      outPerSecond: 22,
      bytesOnDisk: 5_600_000,
      timeToFullMs: 5_400_000,
      breaker: 'closed',
    },
  },
  { kind: 'presence', name: 'rooms', stats: { channels: 12, members: 340 } },
]

describe('the page of parts', { timeout: 120_000 }, () => {
  let daemon: Daemon
  beforeAll(async () => {
    daemon = await startDaemon()
  })
  afterAll(async () => {
    await closeViews()
    await daemon?.close()
  })

  const report = async (): Promise<void> => {
    const { status } = await send(`${daemon.url}/v1/reports`, 'POST', {
      v: 1,
      service: daemon.service,
      replica: 'web-1-replica',
      host: 'web-1',
      pid: 4711,
      startedAt: Date.now() - 60_000,
      sections,
      omitted: [],
    })
    expect(status).toBe(200)
  }

  test('shows what to do while nothing reports', async () => {
    const { page, wrong, close } = await openView(daemon, { view: '/parts' })
    await page.getByText('No part reports yet').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'parts-empty-desktop-light')
    expect(wrong).toEqual([])
    await close()
  })

  test.each([
    ['desktop', 'light'],
    ['phone', 'dark'],
  ] as const)('shows each part with what matters, trouble first, %s, %s', async (width, theme) => {
    await report()
    const { page, wrong, close } = await openView(daemon, { view: '/parts', width, theme })
    await page.getByText('9 parts in 2 processes, 6 to look at').waitFor()
    const breakers = page.getByRole('table', { name: 'Breakers' }).getByRole('row')
    expect(await breakers.nth(1).getByRole('cell').allTextContents()).toEqual(
      expect.arrayContaining([
        expect.stringContaining(`models / ${hostile}web-1:4711`),
        '✕ open, tries again in 8 s',
        '75%',
        '12',
      ]),
    )
    await page.getByText('paused, 12 s left').waitFor()
    await page.getByText('Redis away, in process only').waitFor()
    await page.getByText('shedding: event loop delay 84 ms').waitFor()
    await page.getByText('full in 1 h').waitFor()
    expect(await page.locator('main img').count()).toBe(0)
    expect(await sidewaysScroll(page)).toBeUndefined()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, `parts-${width}-${theme}`)
    await page.getByLabel('Filter by name or process').fill('vendor')
    await page.getByRole('table', { name: 'Caches' }).waitFor({ state: 'detached' })
    expect(page.url()).toContain('filter=vendor')
    expect(wrong).toEqual([])
    await close()
  })

  test('a process that stops reporting stays visible, grey, with the age of its figures', async () => {
    await report()
    const { page, wrong, close } = await openView(daemon, { view: '/parts' })
    await page.getByText('9 parts in 2 processes').waitFor()
    await send(`${daemon.url}/v1/reports/${daemon.service}/web-1-replica`, 'DELETE')
    await page
      .getByText(/silent, [\d.]+ s ago/)
      .first()
      .waitFor()
    await page.getByText('9 parts in 1 process, 9 to look at').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'parts-silent-desktop-light')
    expect(wrong).toEqual([])
    await close()
  })

  test('lets admins have a part do something, once confirmed, and says what became of it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-parts-'))
    const redis = await startRedis()
    const shared = await startDaemon({ redis: redis.url }, { SLUICE_READ_TOKEN: 'may-only-look' })
    const client = new Redis(redis.url, { lazyConnect: true })
    const handle = openRedis(client, { service: shared.service, reports: { actions: true } })
    const limiter = await createLimiter({ limits: { rpm: 5 }, redis: handle })
    const breakers = createBreakers({ name: 'models' })
    breakers.for(hostile)
    const sent: number[] = []
    const shipper = await createShipper({
      ...{ dir: folder, name: 'events', flushInterval: false },
      send: async (events) => void sent.push(events.length),
    })
    await shipper.ship({ n: 1 })

    const { page, wrong, close } = await openView(shared, { view: '/parts', width: 'phone', theme: 'dark' })
    await page.getByRole('button', { name: 'Flush … events' }).click()
    await page.getByRole('dialog', { name: 'Flush events?' }).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'parts-action-phone-dark')
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(sent).toEqual([])
    await page.getByRole('button', { name: 'Flush … events' }).click()
    await page.getByRole('button', { name: 'Flush', exact: true }).click()
    await page.getByText(/Flush events of .*: drained, 1 sent, 0 rejected\./).waitFor()
    expect(sent).toEqual([1])
    await page.getByRole('button', { name: `Open … models / ${hostile}` }).click()
    await page.getByRole('button', { name: 'Open', exact: true }).click()
    await page.getByText(/Open models .*: done\./).waitFor()
    expect(breakers.for(hostile).stats().isolated).toBe(true)
    await page.getByRole('button', { name: `Close … models / ${hostile}` }).waitFor()
    expect(await page.locator('main img').count()).toBe(0)
    expect(await sidewaysScroll(page)).toBeUndefined()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'parts-acted-phone-dark')
    // What ended meanwhile is said, too.
    await page.getByRole('button', { name: 'Flush … events' }).click()
    await shipper.close()
    await page.getByRole('button', { name: 'Flush', exact: true }).click()
    await page.getByText(/Flush events of .*: (failed, SLUICE_WRONG_USE|The process has no shipper)/).waitFor()
    expect(wrong).toEqual([])
    await close()

    const reader = await openView(shared, { view: '/parts', signedIn: false })
    await signIn(reader.page, 'may-only-look')
    await reader.page.getByRole('table', { name: 'Breakers' }).waitFor()
    expect(await reader.page.getByRole('button', { name: '…' }).count()).toBe(0)
    expect(reader.wrong).toEqual([])
    await reader.close()

    for (const each of [breakers, limiter, handle, shared]) await each.close()
    client.disconnect()
    await redis.stop()
    rmSync(folder, { recursive: true })
  })
})
