import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { seriousFindings } from './accessibility.ts'
import { closeViews, openView, picture, startDaemon } from './browser.ts'

const views = [
  ['Overview', '/', '**/v1/overview'],
  ['Rules', '/rules', '**/v1/rules'],
  ['Rule', '/rules/per-user', '**/v1/rules/per-user'],
  ['Keys', '/keys?key=example%2Fper-user%2Fa', '**/v1/keys/**'],
  ['Policy', '/policy', '**/v1/policy'],
  ['Parts', '/parts', '**/v1/stats*'],
] as const

describe.each(views)('the page of %s', { timeout: 120_000 }, (name, view, route) => {
  let daemon: Daemon
  beforeAll(async () => {
    daemon = await startDaemon()
  })
  afterAll(async () => {
    await closeViews()
    await daemon?.close()
  })

  test('shows a message without permission, and when the daemon does not answer, and recovers', async () => {
    const { page, wrong, close } = await openView(daemon, { view: '/nowhere' })
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
    await page.evaluate(() => {
      location.hash = '/nowhere'
    })
    await page.getByText('There is no such page').waitFor()
    await page.evaluate((hash) => {
      location.hash = hash
    }, view)
    await page.getByText('The daemon cannot be reached.').first().waitFor()
    await picture(page, `state-error-${name.toLowerCase()}`)
    await page.unroute(route)
    const again = page.getByRole('button', { name: 'Try again' })
    // Views that refresh by themselves may have recovered already.
    if (await again.isVisible()) await again.click().catch(() => {})
    await page.getByText('That did not work').waitFor({ state: 'detached' })
    expect(wrong.filter((each) => !each.includes('ERR_FAILED'))).toEqual([])
    await close()
  })

  test('shows that it is loading while the daemon is slow', async () => {
    const { page, wrong, close } = await openView(daemon, { view: '/nowhere', width: 'phone' })
    let answer = (): void => {}
    const asked = new Promise<void>((resolve) => {
      answer = resolve
    })
    await page.route(route, async (each) => {
      await asked
      await each.continue()
    })
    await page.evaluate((hash) => {
      location.hash = hash
    }, view)
    await page
      .getByText(/^Loading/)
      .first()
      .waitFor()
    await picture(page, `state-loading-${name.toLowerCase()}`)
    answer()
    await page
      .getByText(/^Loading/)
      .first()
      .waitFor({ state: 'detached' })
    expect(wrong).toEqual([])
    await close()
  })
})
