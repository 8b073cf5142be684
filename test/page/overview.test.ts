import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedis, startTcpProxy } from 'sluice/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { seriousFindings, sidewaysScroll } from './accessibility.ts'
import { closeViews, openView, picture, signIn, startDaemon, type View } from './browser.ts'
import { decide, keepDeciding } from './traffic.ts'

const hostile = '<img src=x onerror=document.title="owned">'

describe('the overview', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-page-'))
  const file = join(folder, 'sluice.yaml')
  writeFileSync(file, 'service: shop\nrules:\n  - { name: per-user, limits: { rpd: 3 }, onStoreFailure: open }\n')
  let view: View | undefined
  const ends: (() => unknown)[] = []
  beforeAll(async () => {})
  afterEach(async () => {
    await view?.close()
    for (const end of ends.splice(0).reverse()) await end()
  })
  afterAll(async () => {
    await closeViews()
    rmSync(folder, { recursive: true })
  })
  const start = async (flags = {}, env = {}): Promise<Daemon> => {
    const daemon = await startDaemon({ policy: file, ...flags }, env)
    ends.push(() => daemon.close())
    return daemon
  }

  test('shows who is refused, by which rule; a key that looks like markup stays text', async () => {
    const daemon = await start()
    ends.push(keepDeciding(daemon, hostile))
    view = await openView(daemon)
    const { page, wrong } = view
    const row = page.getByRole('region', { name: 'Who is being refused' }).getByRole('listitem')
    await row.first().waitFor()
    expect(await row.first().textContent()).toContain('onerror=document.title')
    expect(await page.locator('img').count()).toBe(0)
    expect(await page.title()).toBe('Overview · Sluice')
    await page.waitForFunction(() => /of requests/.test(document.querySelector('.tiles')?.textContent ?? ''))
    // The key links to its own page, and the link works when it is opened again.
    await row.getByRole('link').first().click()
    await page.waitForFunction(() => location.hash.startsWith('#/keys?key='))
    expect(decodeURIComponent(page.url().replaceAll('+', ' '))).toContain('onerror')
    expect(wrong).toEqual([])
  })

  test.each([
    ['light', 'desktop'],
    ['dark', 'desktop'],
    ['light', 'phone'],
    ['dark', 'phone'],
  ] as const)('has no serious faults for axe and does not scroll sideways, %s, %s', async (theme, width) => {
    const daemon = await start()
    ends.push(keepDeciding(daemon, 'somebody-with-a-rather-long-name-that-has-to-go-somewhere'))
    view = await openView(daemon, { theme, width })
    const { page, wrong } = view
    await page.getByRole('region', { name: 'Who is being refused' }).getByRole('listitem').first().waitFor()
    expect(await seriousFindings(page)).toEqual([])
    expect(await sidewaysScroll(page)).toBeUndefined()
    await picture(page, `overview-${width}-${theme}`)
    expect(wrong).toEqual([])
  })

  test('shows why and since when Redis is away, and that it is back', async () => {
    const redis = await startRedis()
    ends.push(() => redis.stop())
    const daemon = await start({ redis: redis.url, deadline: '100' })
    ends.push(keepDeciding(daemon, 'somebody'))
    view = await openView(daemon)
    const { page } = view
    await page.getByText('exact', { exact: true }).waitFor()
    await redis.freeze()
    await page.getByRole('alert', { name: 'Degraded' }).waitFor()
    expect(await page.getByRole('alert').textContent()).toMatch(/^Redis .+, so counting is not exact\. Since \d\d:\d\d/)
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'overview-degraded')
    redis.thaw()
    await page.getByText('Redis is back, counting is exact again').waitFor()
    await page.getByRole('alert', { name: 'Degraded' }).waitFor({ state: 'detached' })
  })

  test('adds up all replicas and names the one that it shows', async () => {
    const redis = await startRedis()
    ends.push(() => redis.stop())
    const [one, other] = [await start({ redis: redis.url }), await start({ redis: redis.url })]
    await decide(one, 'a', 5)
    await decide(other, 'b', 7)
    view = await openView(one)
    const { page } = view
    const store = page.getByRole('region', { name: 'Store' })
    await store.locator('dt:text-is("Replicas") + dd:text-is("2")').waitFor()
    expect(await store.textContent()).toMatch(/Shown by\S.* · \d+/)
    await page.waitForFunction(async () => {
      const rows = await fetch('./v1/rules').then((response) => response.json())
      return rows.rules[0].allowed + rows.rules[0].denied === 12
    })
  })

  test('does not say that nobody is refused while it cannot see the other processes', async () => {
    const redis = await startRedis()
    ends.push(() => redis.stop())
    const [shown, other] = [await start({ redis: redis.url }), await start({ redis: redis.url })]
    ends.push(keepDeciding(other, 'somebody'))
    view = await openView(shown)
    const { page } = view
    const refused = page.getByRole('region', { name: 'Who is being refused' })
    await refused.getByText('somebody').waitFor()
    await redis.freeze()
    await page.getByText('the figures are those of this process alone').waitFor()
    await refused.getByText('Not known').waitFor()
    redis.thaw()
    await refused.getByText('somebody').waitFor()
  })

  test('follows a daemon through its restart: old data stays, new data is added', async () => {
    const first = await startDaemon({ policy: file })
    const { port } = new URL(first.url)
    await decide(first, 'a', 4)
    view = await openView(first)
    const { page } = view
    const state = page.locator('.header').getByRole('status')
    await state.getByText('live').waitFor()
    await first.close()
    await state.getByText('connection lost').waitFor()
    await start({ port })
    await state.getByText('live').waitFor()
    await page.getByText('The daemon was restarted').waitFor()
    const second = { url: first.url }
    ends.push(keepDeciding(second, 'b'))
    await page.getByRole('region', { name: 'Who is being refused' }).getByText('b', { exact: true }).waitFor()
  })

  test('notices a connection that is lost without an end, and resumes', async () => {
    const daemon = await start()
    const proxy = await startTcpProxy({ targetPort: Number(new URL(daemon.url).port) })
    ends.push(() => proxy.close())
    view = await openView({ ...daemon, url: `http://127.0.0.1:${proxy.port}` }, { view: '/parts' })
    const { page } = view
    const state = page.locator('.header').getByRole('status')
    await page.clock.install()
    await page.reload()
    await state.getByText('live').waitFor()
    proxy.stall()
    await page.clock.fastForward(12_000)
    await state.getByText('connection lost').waitFor()
    await page.clock.fastForward(20_000)
    await page.getByText('The daemon does not answer.').waitFor()
    await proxy.resume()
    await state.getByText('live').waitFor()
    await page.getByText('The daemon does not answer.').waitFor({ state: 'detached' })
  })

  test('asks to sign in again after a restart with another token, and stays where it was', async () => {
    const first = await startDaemon({ policy: file }, { SLUICE_ADMIN_TOKEN: 'first-token-of-many' })
    const { port } = new URL(first.url)
    view = await openView(first, { signedIn: false, view: '/rules' })
    await signIn(view.page, 'first-token-of-many')
    await first.close()
    const second = await start({ port })
    await view.page.getByText('Your session has ended').waitFor()
    await signIn(view.page)
    expect(view.page.url()).toBe(`${second.url}/#/rules`)
  })
})
