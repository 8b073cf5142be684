import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { openView, sharedBrowser, startDaemon } from '../test/page/browser.ts'
import { type Spread, spread } from './measure/stats.ts'
import { progress } from './report/print.ts'

/** The times that a reader of the page waits, in milliseconds. */
interface PageFigures {
  /** From the navigation to the first paint, and to the first figures on the overview. */
  readonly firstPaintMs: Spread
  readonly figuresMs: Spread
  /** With 500 rules and 10,000 keys: from a key press in the search to the next frame, and the longest task. */
  readonly searchMs: Spread
  readonly longestTaskMs: number
  /** Scripts that the overview loads, compressed as they were sent. */
  readonly scriptBytes: number
}

const rules = 500
const keys = 10_000

/** Opens the page of a daemon on loopback repeatedly, in headless Chromium. */
export async function benchPage(options: { readonly rounds?: number } = {}): Promise<PageFigures> {
  const { rounds = 7 } = options
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-page-'))
  const file = join(folder, 'sluice.yaml')
  const others = Array.from({ length: rules - 1 }, (_, i) => `  - { name: rule-${i}, limits: { rpm: 100 } }\n`)
  writeFileSync(file, `service: bench\nrules:\n  - { name: per-user, limits: { rpd: 3 } }\n${others.join('')}`)
  const daemon = await startDaemon({ policy: file })
  const browser = await sharedBrowser()
  try {
    await askForKeys(daemon.url)
    const { page } = await openView(daemon)
    const [paints, figures, searches]: [number[], number[], number[]] = [[], [], []]
    let longestTaskMs = 0
    let scriptBytes = 0
    for (let round = 0; round < rounds; round++) {
      await page.goto('about:blank')
      await page.goto(`${daemon.url}/#/`)
      await page.getByText('Who is being refused').waitFor()
      figures.push(await read(page, 'performance.now()'))
      paints.push(await read(page, "performance.getEntriesByName('first-contentful-paint')[0].startTime"))
      scriptBytes = await read(
        page,
        "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('.js')).reduce((sum, each) => sum + each.encodedBodySize, 0)",
      )
      searches.push(await search(page, daemon.url))
      longestTaskMs = Math.max(longestTaskMs, await read(page, 'window.longestTask ?? 0'))
    }
    const result = {
      firstPaintMs: spread(paints),
      figuresMs: spread(figures),
      searchMs: spread(searches),
      longestTaskMs,
      scriptBytes,
    }
    const line = ([name, { median, min, max }]: [string, Spread]): string =>
      `  ${name} ${median.toFixed(0)} ms (${min.toFixed(0)} to ${max.toFixed(0)})`
    progress(`page: headless Chromium, ${rules} rules, ${keys} keys`)
    progress(line(['first paint', result.firstPaintMs]))
    progress(line(['first figures', result.figuresMs]))
    progress(line(['a key press in the search of rules', result.searchMs]))
    progress(`  longest task while searching ${longestTaskMs.toFixed(0)} ms`)
    progress(`  scripts of the overview ${(scriptBytes / 1000).toFixed(1)} kB compressed`)
    return result
  } finally {
    await browser.close()
    await daemon.close()
    rmSync(folder, { recursive: true })
  }
}

async function askForKeys(url: string): Promise<void> {
  for (let from = 0; from < keys; from += 1000) {
    const checks = Array.from({ length: 1000 }, (_, i) => ({
      key: `user-${(from + i) % (keys / 2)}`,
      rule: 'per-user',
    }))
    await fetch(`${url}/v1/check`, { method: 'POST', body: JSON.stringify({ checks }) })
  }
}

/** Types into the search, and waits until the frame with the answer is drawn. */
async function search(page: Page, url: string): Promise<number> {
  await page.goto(`${url}/#/rules`)
  const box = page.getByRole('searchbox')
  await box.waitFor()
  await page.evaluate(
    "new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) window.longestTask = Math.max(window.longestTask ?? 0, duration) }).observe({ entryTypes: ['longtask'] })",
  )
  await box.focus()
  await page.evaluate(
    "addEventListener('input', () => { const from = performance.now(); requestAnimationFrame(() => setTimeout(() => { window.searched = performance.now() - from })) }, { once: true, capture: true })",
  )
  await page.keyboard.press('4')
  await page.waitForFunction('window.searched !== undefined')
  const ms = await read(page, 'window.searched')
  await page.evaluate('delete window.searched')
  return ms
}

function read(page: Page, expression: string): Promise<number> {
  return page.evaluate(expression) as Promise<number>
}
