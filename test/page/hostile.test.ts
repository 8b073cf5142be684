import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { send } from '../../packages/server/src/testing/started.ts'
import { sidewaysScroll } from './accessibility.ts'
import { closeViews, openView, picture, startDaemon } from './browser.ts'
import { keepDeciding } from './traffic.ts'

/** Text that would run if it were used as HTML, an attribute, a script or an address. */
const hostile = `"'><img src=x onerror=document.title='owned'><script>document.title='owned'</script>javascript:1`
const link = 'javascript:document.title="owned"'

/** A report of a process whose every text is hostile. */
const report = {
  ...{ v: 1, service: 'shop', replica: hostile, host: hostile, pid: 1, startedAt: 0, omitted: [hostile] },
  sections: [
    {
      kind: 'limiter',
      name: hostile,
      stats: {
        policy: { version: hostile, source: hostile, ageMs: 1, lastError: hostile },
        breaker: hostile,
        decisions: { allowed: 9, denied: 9, degraded: 0 },
        recent: [[9, 9, 0]],
        rules: [
          {
            ...{ rule: 'per-user', allowed: 9, denied: 9, degraded: 0, keysOverMs: 60_000 },
            hottest: [{ key: `shop/per-user/${link}`, count: 900, error: 0 }],
            mostDenied: [{ key: hostile, count: 900, error: 0 }],
          },
        ],
      },
    },
    { kind: 'egress', name: '', stats: [{ name: hostile, depth: 1, limits: [{ name: hostile, used: 1, amount: 1 }] }] },
    { kind: 'cache', name: hostile, stats: { hits: { [hostile]: 1 }, misses: 1, redis: hostile } },
    { kind: 'breaker', name: hostile, stats: [{ key: hostile, state: hostile }] },
    { kind: 'capacity', name: hostile, stats: { ready: true, load: { percent: 1, cause: hostile } } },
    { kind: 'shipper', name: '', stats: { producer: hostile } },
    { kind: hostile, name: hostile, stats: { [hostile]: 1 } },
  ],
}

describe('hostile text from requests and reports', { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-hostile-'))
  let daemon: Daemon
  const ends: (() => void)[] = []
  beforeAll(async () => {
    const file = join(folder, 'sluice.yaml')
    const described = JSON.stringify(hostile)
    writeFileSync(
      file,
      `service: shop\nrules:\n  - { name: per-user, description: ${described}, key: ip, match: { path: /x }, limits: { rpd: 3 } }\n`,
    )
    daemon = await startDaemon({ policy: file })
    ends.push(keepDeciding(daemon, hostile), keepDeciding(daemon, link))
    const post = (): void => void send(`${daemon.url}/v1/reports`, 'POST', report)
    expect((await send(`${daemon.url}/v1/reports`, 'POST', report)).status).toBe(200)
    const timer = setInterval(post, 1000)
    ends.push(() => clearInterval(timer))
  })
  afterAll(async () => {
    for (const end of ends) end()
    await closeViews()
    await daemon?.close()
    rmSync(folder, { recursive: true })
  })

  test.each([
    ['/', 'Who is being refused'],
    ['/rules', '1 rule'],
    ['/rules/per-user', 'Recent denials'],
    [`/rules/${encodeURIComponent(hostile)}`, 'The policy has no rule'],
    [`/keys?key=${encodeURIComponent(`shop/per-user/${link}`)}`, 'Reset'],
    [`/keys?key=${encodeURIComponent(hostile)}`, 'policy'],
    ['/policy', 'No mistakes'],
    ['/parts', 'Upstreams'],
  ])('is only text on %s', async (view, sign) => {
    const { page, wrong, close } = await openView(daemon, { view })
    await page.getByText(sign).first().waitFor()
    if (view === '/' || view === '/parts') await page.getByText('onerror=').first().waitFor()
    await page.waitForTimeout(500)
    expect(await page.title()).not.toBe('owned')
    expect(await page.locator('img, iframe, object, [onerror], script:not([src])').count()).toBe(0)
    const addresses = await page.locator('a').evaluateAll((all) => all.map((each) => (each as HTMLAnchorElement).href))
    expect(addresses.filter((each) => !each.startsWith(`${daemon.url}/#`))).toEqual([])
    await picture(page, `hostile-${view.split(/[/?]/)[1] || 'overview'}`)
    expect(wrong).toEqual([])
    await close()
  })

  test('a rule with the longest name fits on a phone', async () => {
    const file = join(folder, 'long.yaml')
    const name = 'n'.repeat(64)
    writeFileSync(file, `service: shop\nrules:\n  - { name: ${name}, key: ip, limits: { rpd: 3 } }\n`)
    const named = await startDaemon({ policy: file })
    ends.push(() => void named.close())
    const { page, close } = await openView(named, { width: 'phone' })
    for (const view of ['/', '/rules', `/rules/${name}`, '/policy', '/keys?key=a']) {
      await page.evaluate((hash) => {
        location.hash = hash
      }, view)
      await page.getByText(name).first().waitFor()
      expect(await sidewaysScroll(page)).toBeUndefined()
    }
    await close()
  })
})
