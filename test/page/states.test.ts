import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { seriousFindings } from './accessibility.ts'
import { openView, picture, startBrowser, startDaemon } from './browser.ts'

const views = [
  ['Keys', '/keys?key=example%2Fper-user%2Fa', '**/v1/keys/**'],
  ['Policy', '/policy', '**/v1/policy'],
  ['Parts', '/parts', '**/v1/stats*'],
] as const

describe.each(views)('the page of %s', { timeout: 60_000 }, (name, view, route) => {
  let browser: Browser
  let daemon: Daemon
  beforeAll(async () => {
    browser = await startBrowser()
    daemon = await startDaemon()
  })
  afterAll(async () => {
    await browser?.close()
    await daemon?.close()
  })

  test('says so when it may not see something, and when the daemon does not answer, and recovers', async () => {
    const { page, wrong, close } = await openView(browser, daemon)
    await page.route(route, (each) =>
      each.fulfill({
        status: 403,
        contentType: 'application/problem+json',
        body: '{"status":403,"detail":"Not for you."}',
      }),
    )
    await page.evaluate((hash) => {
      location.hash = hash
    }, view)
    await page.getByText('You may not see this').waitFor()
    await page.getByText('Not for you.').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, `state-no-permission-${name.toLowerCase()}`)
    await page.unroute(route)
    await page.route(route, (each) => each.abort())
    await page.getByRole('link', { name: 'Rules', exact: true }).click()
    await page.evaluate((hash) => {
      location.hash = hash
    }, view)
    await page.getByText('The daemon cannot be reached.').first().waitFor()
    await picture(page, `state-error-${name.toLowerCase()}`)
    await page.unroute(route)
    const again = page.getByRole('button', { name: 'Try again' })
    // Views that ask by themselves may have recovered already.
    if (await again.isVisible()) await again.click().catch(() => {})
    await page.getByText('That did not work').waitFor({ state: 'detached' })
    expect(wrong.filter((each) => !each.includes('ERR_FAILED'))).toEqual([])
    await close()
  })
})
