import { Redis } from 'ioredis'
import { createLimiter } from 'sluice'
import { createCache } from 'sluice/cache'
import { openRedis } from 'sluice/redis'
import { type RedisServer, startRedis } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { send } from '../../packages/server/src/testing/started.ts'
import { seriousFindings, sidewaysScroll } from './accessibility.ts'
import { closeViews, openView, picture, startDaemon } from './browser.ts'

const hostile = '<img src=x onerror=alert(1)>/\u202eorders'

describe('the switch of services', { timeout: 120_000 }, () => {
  let redis: RedisServer
  let daemon: Daemon
  const ends: (() => unknown)[] = []
  beforeAll(async () => {
    redis = await startRedis()
    daemon = await startDaemon({ redis: redis.url })
  })
  afterAll(async () => {
    for (const end of ends.reverse()) await end()
    await closeViews()
    await daemon?.close()
    await redis?.stop()
  })

  test('is not there while one service reports', async () => {
    const { page, close } = await openView(daemon)
    await page.getByTitle('The service whose policy this daemon enforces').waitFor()
    expect(await page.getByLabel('Service').count()).toBe(0)
    await close()
  })

  test.each([
    ['desktop', 'light'],
    ['phone', 'dark'],
  ] as const)('shows what another service reports, and says what it cannot, %s, %s', async (width, theme) => {
    const client = new Redis(redis.url)
    const handle = openRedis(client, { service: 'orders', reports: { actions: true } })
    const limiter = await createLimiter({ limits: { rpd: 2 }, redis: handle })
    const cache = await createCache({ name: 'prices', redis: handle })
    ends.push(() => client.disconnect())
    for (let i = 0; i < 5; i++) await limiter.take('acme')
    const odd = { v: 1, service: hostile, replica: 'r', host: 'h', pid: 1, startedAt: 1, sections: [], omitted: [] }
    const report = async (): Promise<number> => (await send(`${daemon.url}/v1/reports`, 'POST', odd)).status
    expect(await report()).toBe(200)
    // A report that is not repeated expires, on a busy machine before the page has looked.
    const reporting = setInterval(() => report().catch(() => undefined), 2000)
    ends.push(() => clearInterval(reporting))
    await expect
      .poll(async () => ((await send(`${daemon.url}/v1/services`, 'GET')).body as { services: string[] }).services, {
        timeout: 20_000,
      })
      .toEqual(expect.arrayContaining(['orders', hostile]))
    const { page, wrong, close } = await openView(daemon, { view: '/parts', width, theme })
    const choice = page.getByLabel('Service', { exact: true })
    expect(await choice.locator('option').allTextContents()).toEqual(
      expect.arrayContaining([daemon.service, 'orders', hostile.replace('\u202e', '\ufffd')]),
    )
    await choice.selectOption('orders')
    await page.getByText('prices').waitFor()
    expect(page.url()).toMatch(/#\/services\/orders\/parts$/)
    // Its policy and its audit log are elsewhere, and the page says so instead of showing those of this daemon.
    expect(await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allTextContents()).toEqual([
      'Overview',
      'Parts',
    ])
    await page.getByText('are on the page of its own daemon').waitFor()
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Overview' }).click()
    const denied = page.getByRole('region', { name: 'Most denied keys' }).getByRole('listitem')
    expect(await denied.first().textContent()).toContain('acme')
    expect(await denied.getByRole('link').count()).toBe(0)
    expect(await page.getByRole('table', { name: 'Rules' }).getByRole('row').nth(1).textContent()).toContain('default')
    await page.getByRole('table', { name: 'Processes' }).getByText(String(process.pid)).waitFor()
    expect(await sidewaysScroll(page)).toBeUndefined()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, `services-${width}-${theme}`)
    // What an address names is text, also when it names what reports nothing that is known here.
    await choice.selectOption(hostile)
    await page.getByText('No limiter of this service reports').waitFor()
    expect(await page.locator('main img').count()).toBe(0)
    // A service that ends stays chosen, and is said to be silent.
    await choice.selectOption('orders')
    await page.getByRole('table', { name: 'Processes' }).waitFor()
    await cache.close()
    await limiter.close()
    await page.getByText('No process of this service reports').waitFor()
    expect(await choice.inputValue()).toBe('orders')
    await picture(page, `services-silent-${width}-${theme}`)
    await page.getByRole('link', { name: `Back to ${daemon.service}` }).click()
    await page.getByRole('link', { name: 'Policy', exact: true }).waitFor()
    expect(wrong).toEqual([])
    await close()
  })

  test('does not say that processes have ended while Redis cannot be asked', async () => {
    const other = await startRedis()
    const alone = await startDaemon({ redis: other.url })
    ends.push(() => other.stop())
    const { page, close } = await openView(alone, { view: '/services/orders' })
    await page.getByText('Those that did have ended').waitFor()
    await other.freeze()
    await page.getByText('that is not known now').waitFor()
    expect(await page.getByText('have ended').count()).toBe(0)
    other.thaw()
    await close()
    await alone.close()
  })
})
