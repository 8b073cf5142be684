import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { seriousFindings, sidewaysScroll } from './accessibility.ts'
import { closeViews, openView, picture, startDaemon } from './browser.ts'

describe('the shell of the page', () => {
  let daemon: Daemon
  beforeAll(async () => {
    daemon = await startDaemon()
  })
  afterAll(async () => {
    await closeViews()
    await daemon?.close()
  })

  test.each([
    ['light', 'desktop'],
    ['dark', 'phone'],
  ] as const)('signs in and opens every page, %s, %s', async (theme, width) => {
    const { page, wrong, close } = await openView(daemon, { theme, width })
    for (const name of ['Rules', 'Keys', 'Policy', 'Parts', 'Audit', 'Overview']) {
      await page.getByRole('link', { name, exact: true }).click()
      await page.waitForFunction((title) => document.title === title, `${name} · Sluice`)
      await page.locator('#main > :not(.loading)').first().waitFor()
      expect(await seriousFindings(page)).toEqual([])
      expect(await sidewaysScroll(page)).toBeUndefined()
    }
    await picture(page, `shell-${width}-${theme}`)
    expect(wrong).toEqual([])
    await close()
  })

  test('shows a message for an unknown address', async () => {
    const { page, close } = await openView(daemon, { view: '/nowhere' })
    await page.getByText('There is no such page').waitFor()
    await close()
  })
})
