import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { seriousFindings, sidewaysScroll } from './accessibility.ts'
import { adminToken, closeViews, openView, picture, signIn, startDaemon } from './browser.ts'

const policy = (rpm: number) =>
  `service: shop\nrules:\n  - name: per-tenant\n    key: headers.tenant\n    limits: { rpm: ${rpm} }\n`

describe('the audit log as a page', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-audit-'))
  const file = join(folder, 'sluice.yaml')
  let daemon: Daemon
  beforeAll(async () => {
    writeFileSync(file, policy(5))
    daemon = await startDaemon(
      { policy: file, 'history-url': 'https://grafana.example/d/sluice?from=now-7d' },
      { SLUICE_READ_TOKEN: 'may-only-look' },
    )
    const authorization = `Bearer ${adminToken}`
    const send = (method: string, path: string, body?: string) =>
      fetch(daemon.url + path, {
        method,
        headers: { authorization, 'content-type': 'application/yaml' },
        ...(body === undefined ? {} : { body }),
      })
    await send('DELETE', '/v1/keys/shop/per-tenant/acme')
    await send('PUT', '/v1/policy', policy(6))
  })
  afterAll(async () => {
    await closeViews()
    await daemon?.close()
    rmSync(folder, { recursive: true })
  })

  test.each([
    ['light', 'desktop'],
    ['dark', 'phone'],
  ] as const)('lists who changed what, newest first, with before and after, %s, %s', async (theme, width) => {
    const { page, wrong, close } = await openView(daemon, { view: '/audit', theme, width })
    const rows = page.getByRole('table', { name: 'Changes by operators' }).getByRole('row')
    await rows.nth(2).waitFor()
    expect(await rows.nth(1).textContent()).toMatch(/admin.*Published/)
    expect(await rows.nth(2).textContent()).toMatch(/Reset shop\/per-tenant\/acme/)
    await rows.nth(1).getByText('before and after').click()
    await rows.nth(1).getByText('rules[per-tenant].limits.rpm').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    expect(await sidewaysScroll(page)).toBeUndefined()
    await picture(page, `audit-${width}-${theme}`)
    await page.getByLabel('Filter by person, change or target').fill('acme')
    await expect.poll(() => rows.count(), { timeout: 30_000 }).toBe(2)
    expect(wrong).toEqual([])
    await close()
  })

  test('is not there for people who may only look', async () => {
    const { page, wrong, close } = await openView(daemon, { view: '/audit', signedIn: false })
    await signIn(page, 'may-only-look')
    await page.getByText('You may not see this').waitFor()
    expect(await page.getByRole('link', { name: 'Audit', exact: true }).count()).toBe(0)
    expect(wrong).toEqual([])
    await close()
  })

  test('the overview leads to older figures where it was told of them', async () => {
    const { page, wrong, close } = await openView(daemon)
    const link = page.getByRole('link', { name: 'Further back than 15 minutes' })
    expect(await link.getAttribute('href')).toBe('https://grafana.example/d/sluice?from=now-7d')
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer')
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'overview-history-link')
    expect(wrong).toEqual([])
    await close()
  })
})
