import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { adminToken, closeViews, openView, startDaemon } from './browser.ts'
import { decide, keepDeciding } from './traffic.ts'

interface Focus {
  readonly name: string
  readonly isVisible: boolean
  readonly hasRing: boolean
  /** Whether it comes after the previous one in the document. */
  readonly isAfter: boolean
}

/** What has the focus, also inside the editor; undefined at the end of the page. */
const readFocus = (page: Page): Promise<Focus | undefined> =>
  page.evaluate(() => {
    const host = document.activeElement
    if (host === null || host === document.body) return undefined
    const inner = host.shadowRoot?.activeElement ?? host
    const { width, height, right, bottom } = inner.getBoundingClientRect()
    const rings = [inner, host, inner.closest('.cm-editor') ?? inner].map((each) => getComputedStyle(each))
    const last = (window as { lastFocus?: Element }).lastFocus
    Object.assign(window, { lastFocus: host })
    return {
      name: `${inner.tagName} ${inner.getAttribute('aria-label') ?? inner.textContent?.trim().slice(0, 40)}`,
      isVisible: width > 0 && height > 0 && right > 0 && bottom > 0,
      hasRing: rings.some(({ outlineStyle, outlineWidth, boxShadow }) => {
        return (outlineStyle !== 'none' && outlineWidth !== '0px') || boxShadow !== 'none'
      }),
      isAfter: last === undefined || !!(last.compareDocumentPosition(host) & Node.DOCUMENT_POSITION_FOLLOWING),
    }
  })

describe('with the keyboard alone', { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-keyboard-'))
  let daemon: Daemon
  beforeAll(async () => {
    const file = join(folder, 'sluice.yaml')
    writeFileSync(file, 'service: shop\nrules:\n  - { name: per-user, limits: { rpd: 3 } }\n')
    daemon = await startDaemon({ policy: file })
    await decide(daemon, 'ada', 5)
  })
  afterAll(async () => {
    await closeViews()
    await daemon?.close()
    rmSync(folder, { recursive: true })
  })

  test.each([
    ['/', 'Who is being refused'],
    ['/rules', '1 rule'],
    ['/rules/per-user', 'Recent denials'],
    ['/keys?key=shop%2Fper-user%2Fada', 'Reset'],
    ['/policy', 'No mistakes'],
    ['/policy/history', 'Versions'],
    ['/parts', 'No part reports yet'],
  ])('everything on %s is reached in the order of the page, is seen, and lets go again', async (view, sign) => {
    const { page, wrong, close } = await openView(daemon, { view })
    await page.getByText(sign).first().waitFor()
    // Like a new visit: the sign-in had the focus.
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur())
    const seen: Focus[] = []
    for (let i = 0; i < 80; i++) {
      await page.keyboard.press('Tab')
      const focus = await readFocus(page)
      if (focus === undefined) break
      seen.push(focus)
    }
    expect(seen[0]?.name).toContain('Skip to content')
    expect(seen.length).toBeGreaterThan(7)
    // The end was reached: nothing traps the focus.
    expect(seen.length).toBeLessThan(80)
    expect(seen.filter(({ isVisible, hasRing, isAfter }) => !(isVisible && hasRing && isAfter))).toEqual([])
    expect(wrong).toEqual([])
    await close()
  })

  test('one signs in, skips to the content, opens a key, starts a reset, and cancels it', async () => {
    const stop = keepDeciding(daemon, 'ada')
    const { page, wrong, close } = await openView(daemon, { signedIn: false })
    await page.getByLabel('Code or admin token').waitFor()
    await page.keyboard.type(adminToken)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'ada' }).waitFor()
    await page.keyboard.press('Tab')
    expect((await readFocus(page))?.name).toContain('Skip to content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main')
    await tabTo(page, 'ada')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'ada' }).waitFor()
    await tabTo(page, 'Reset')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect.poll(async () => (await readFocus(page))?.name).toContain('Reset')
    stop()
    expect(wrong).toEqual([])
    await close()
  })

  async function tabTo(page: Page, name: string): Promise<void> {
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('Tab')
      if ((await readFocus(page))?.name.includes(name)) return
    }
    throw new Error(`Tab does not lead to ${name}`)
  }
})
