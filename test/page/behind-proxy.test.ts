import { startNginx } from 'sluice/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { seriousFindings, sidewaysScroll } from './accessibility.ts'
import { adminToken, closeViews, openView, picture, sharedBrowser, signIn, startDaemon } from './browser.ts'

describe('the page behind nginx', () => {
  let daemon: Daemon
  const ends: (() => Promise<unknown>)[] = []
  beforeAll(async () => {
    daemon = await startDaemon()
  })
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end()
  })
  afterAll(async () => {
    await closeViews()
    await daemon?.close()
  })

  /** The page at an nginx with these lines beside `proxy_pass`. */
  async function openBehind(lines: string, width: 'desktop' | 'phone' = 'desktop', signedIn = true) {
    const nginx = await startNginx(`location / { proxy_pass ${daemon.url}; ${lines} }`)
    ends.push(() => nginx.stop())
    const view = await openView({ ...daemon, url: nginx.url }, { width, signedIn })
    ends.push(() => view.close())
    return { ...view, url: nginx.url }
  }

  test('a plain proxy_pass changes the host, and the sign-in says so and what to write', async () => {
    const { page, url, wrong } = await openBehind('', 'phone', false)
    await page.getByLabel('Code or admin token').fill(adminToken)
    await page.getByRole('button', { name: 'Sign in' }).click()
    const problem = page.getByRole('alert')
    await problem.getByText('proxy_set_header Host $http_host;').waitFor()
    const [opened, received] = [url, daemon.url].map((each) => new URL(each).host)
    expect(await problem.textContent()).toContain(`This page is at ${opened}, and the request arrived for ${received}.`)
    expect(await seriousFindings(page)).toEqual([])
    expect(await sidewaysScroll(page)).toBeUndefined()
    await picture(page, 'proxy-host-phone-light')
    expect(wrong).toEqual([])
  })

  test('with that line it works, and live data arrives though nginx buffers', async () => {
    const { page, wrong } = await openBehind('proxy_set_header Host $http_host;')
    await page.getByRole('status').getByText('live', { exact: true }).waitFor()
    expect(await page.getByText('a proxy in front').count()).toBe(0)
    expect(wrong).toEqual([])
  })

  test('a proxy with TLS that does not say so is told to', async () => {
    const context = await (await sharedBrowser()).newContext()
    ends.push(async () => {
      await context.unrouteAll({ behavior: 'ignoreErrors' })
      await context.close()
    })
    // The browser's own side of a proxy with TLS: the page is at https, and the daemon knows nothing of it.
    await context.route('https://sluice.test/**', async (route) => {
      const url = route.request().url().replace('https://sluice.test', daemon.url)
      if (url.includes('/v1/live')) return route.abort()
      const headers = { ...(await route.request().allHeaders()), host: 'sluice.test' }
      return route.fulfill({ response: await route.fetch({ url, headers }) })
    })
    const page = await context.newPage()
    await page.goto('https://sluice.test/')
    await signIn(page)
    await page.getByText('does not say that it has TLS').waitFor()
    await page.getByText('proxy_set_header X-Forwarded-Proto $scheme;').waitFor()
  })

  test('a proxy that holds the stream back is named, with the line that ends it', { timeout: 120_000 }, async () => {
    const lines = 'proxy_set_header Host $http_host; proxy_ignore_headers X-Accel-Buffering;'
    const { page, wrong } = await openBehind(`${lines} proxy_buffers 8 512k; proxy_buffer_size 512k;`)
    await page.getByText('its live data does not arrive').waitFor({ timeout: 60_000 })
    await page.getByText('proxy_buffering off;').waitFor()
    await page.getByText('no live data', { exact: true }).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'proxy-held-desktop-light')
    expect(wrong).toEqual([])
  })
})
