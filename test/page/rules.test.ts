import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { seriousFindings, sidewaysScroll } from './accessibility.ts'
import { closeViews, openView, picture, startDaemon, type View } from './browser.ts'
import { decide, keepDeciding } from './traffic.ts'

const hostile = '<img src=x onerror=document.title="owned">'
const named = (name: string): string =>
  `  - { name: ${name}, match: { path: /never }, key: ip, limits: { rpm: 100 } }\n`

describe('the pages of rules', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-rules-'))
  const file = join(folder, 'sluice.yaml')
  let daemon: Daemon
  let view: View
  beforeAll(async () => {
    const many = Array.from({ length: 500 }, (_, i) => named(`rule-${i}`)).join('')
    writeFileSync(
      file,
      `service: shop\nrules:\n  - { name: per-user, limits: { rpd: 10 } }\n  - { name: watched, limits: { rpd: 1 }, mode: shadow }\n${many}`,
    )
    daemon = await startDaemon({ policy: file })
    await decide(daemon, hostile, 30)
    await decide(daemon, 'quiet', 2)
    await decide(daemon, 'anybody', 4, 'watched')
    // Ten thousand keys, the most that a page may have to show.
    for (let i = 0; i < 10_000; i += 500) {
      const checks = Array.from({ length: 500 }, (_, j) => ({ key: `user-${i + j}`, rule: 'per-user' }))
      await fetch(`${daemon.url}/v1/check`, { method: 'POST', body: JSON.stringify({ checks }) })
    }
  })
  afterEach(() => view.close())
  afterAll(async () => {
    await closeViews()
    await daemon?.close()
    rmSync(folder, { recursive: true })
  })

  test('with 500 rules and 10,000 keys draw at first 100 rows, find every rule, and keep the search in the link', async () => {
    view = await openView(daemon, { view: '/rules' })
    const { page, wrong } = view
    await page.getByText('502 rules', { exact: true }).waitFor()
    expect(await page.locator('tbody tr').count()).toBe(100)
    await page.getByRole('searchbox').fill('rule-499')
    await page.getByText('1 of 502 rules').waitFor()
    expect(page.url()).toContain('search=rule-499')
    await page.reload()
    await page.getByText('1 of 502 rules').waitFor()
    await page.getByRole('link', { name: 'rule-499' }).click()
    await page.getByRole('heading', { name: 'What it says' }).waitFor()
    expect(wrong).toEqual([])
  })

  test.each([
    ['light', 'desktop'],
    ['dark', 'phone'],
  ] as const)('list the rules, %s, %s', async (theme, width) => {
    view = await openView(daemon, { view: '/rules?search=-4', theme, width })
    await view.page.getByText('111 of 502 rules').waitFor()
    expect(await seriousFindings(view.page)).toEqual([])
    expect(await sidewaysScroll(view.page)).toBeUndefined()
    await picture(view.page, `rules-${width}-${theme}`)
    expect(view.wrong).toEqual([])
  })

  test('show what a shadow rule would have done', async () => {
    view = await openView(daemon, { view: '/rules?search=watched' })
    await view.page.getByText('would deny 75%').waitFor()
    await view.page.getByRole('link', { name: 'watched' }).click()
    await view.page.getByText('Would have denied 75% of the requests').waitFor()
  })

  test.each([
    ['light', 'desktop'],
    ['dark', 'phone'],
  ] as const)('show one rule with its keys, how full they are, and its denials, %s, %s', async (theme, width) => {
    view = await openView(daemon, { view: '/rules/per-user', theme, width })
    const { page, wrong } = view
    await page.getByRole('region', { name: 'Most denied keys' }).getByText('onerror').waitFor()
    expect(await page.locator('img').count()).toBe(0)
    expect(await page.getByRole('region', { name: 'Recent denials' }).getByRole('listitem').count()).toBe(20)
    await page.getByText('busiest of the last minute or two, not all').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    expect(await sidewaysScroll(page)).toBeUndefined()
    await picture(page, `rule-${width}-${theme}`)
    expect(wrong).toEqual([])
  })

  test('show a message when there is no such rule', async () => {
    view = await openView(daemon, { view: '/rules/none' })
    await view.page.getByText('The policy has no rule none').waitFor()
  })

  test('stay smooth with 500 rules while they are scrolled and updated', async () => {
    view = await openView(daemon, { view: '/rules?rows=600' })
    const { page } = view
    await page.getByText('502 rules', { exact: true }).waitFor()
    const ends = [keepDeciding(daemon, 'quiet'), keepDeciding(daemon, 'anybody', 'watched')]
    await page.evaluate(() => {
      const long: number[] = []
      new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration))).observe({
        entryTypes: ['longtask'],
      })
      Object.assign(window, { long, from: performance.now() })
    })
    for (let i = 0; i < 80; i++) {
      await page.mouse.wheel(0, i % 20 < 10 ? 900 : -900)
      await page.waitForTimeout(100)
    }
    const busyShare = await page.evaluate(() => {
      const { long, from } = window as unknown as { long: number[]; from: number }
      return long.reduce((sum, each) => sum + each, 0) / (performance.now() - from)
    })
    for (const end of ends) end()
    // A share, and a generous one: the machine of the tests may be busy with others.
    expect(busyShare).toBeLessThan(0.25)
    expect(view.wrong).toEqual([])
  })
})
