import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { createLimiter, memoryStore } from 'sluice'
import { daemonReports, partReport, startReports } from 'sluice/reports'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { send } from '../../packages/server/src/testing/started.ts'
import { seriousFindings, sidewaysScroll } from './accessibility.ts'
import { adminToken, closeViews, openView, picture, signIn, startDaemon } from './browser.ts'

const policy = `service: shop
rules:
  - name: tenant-language
    match: { method: POST, path: /v1/analyze }
    key: [headers.x-tenant, body.language]
    limits: { rps: 20, rpm: 1000, rpd: 100000 }
  # Keys of users are given by services.
  - { name: per-user, limits: { rpd: 3 } }
  - { name: address, key: ip, limits: { rpm: 120 } }
  - { name: new-daily-cap, match: { path: /v1/analyze }, key: headers.x-tenant, limits: { rpd: 40000 }, mode: shadow }
  - { name: by-plan, match: { path: /v1/plan }, key: [headers.x-tenant, headers.x-region ?? eu], tier: { by: context.user.plan, default: free } }
  - { name: exports, match: { path: "/v1/export/*" }, key: headers.x-tenant, limits: { amount: 5, algorithm: concurrency } }
`
const curl = `curl 'https://api.example/v1/analyze' \\
  -H 'x-tenant: acme' \\
  -H 'authorization: Bearer very-secret' \\
  --json $'{"language":"en","text":"it\\'s fine"}'`
const hostile = '<img src=x onerror=alert(1)>'

describe('the page of keys', { timeout: 120_000 }, () => {
  let daemon: Daemon
  let reporting: ReturnType<typeof startReports> | undefined
  const folder = mkdtempSync(join(tmpdir(), 'sluice-keys-'))
  const file = join(folder, 'sluice.yaml')
  beforeAll(async () => {
    writeFileSync(file, policy)
    daemon = await startDaemon({ policy: file }, { SLUICE_READ_TOKEN: 'may-only-look' })
    const take = (key: unknown, rule: string, cost: number) =>
      send(`${daemon.url}/v1/check`, 'POST', { key, rule, cost })
    await take(['acme', 'en'], 'tenant-language', 14)
    for (let i = 0; i < 3; i++) await take('ada', 'per-user', 1)
    await take(hostile, 'per-user', 2)
    await take('grace', 'per-user', 1)
    for (let i = 0; i < 3; i++) await take('eve', 'per-user', 4)
    const other = await createLimiter({
      policy: { service: 'shop', rules: [{ name: 'per-user', limits: { rpd: 3 } }] },
      store: memoryStore(),
    })
    reporting = startReports({
      service: 'shop',
      to: daemonReports(daemon.url, { token: adminToken }),
      parts: [partReport('limiter', other)],
    })
    await other.take('reported', { cost: 4 })
    await reporting.send()
    await other.close()
  })
  afterAll(async () => {
    await closeViews()
    await reporting?.close()
    await daemon?.close()
    rmSync(folder, { recursive: true })
  })

  const ask = async (page: Page, text: string): Promise<void> => {
    await page.getByLabel('A key, a request, or a curl command').fill(text)
    await page.getByRole('button', { name: 'Explain' }).click()
  }

  test('a pasted curl command is explained, and its secrets stay out of the address', async () => {
    const { page, wrong, close } = await openView(daemon, { view: '/keys' })
    await page.getByText('Whose requests are you looking for?').waitFor()
    // Who is denied is one click away, also from a process that only reports.
    await page.getByRole('region', { name: 'Most denied keys' }).getByRole('link', { name: 'eve' }).waitFor()
    const denials = page.getByRole('region', { name: 'Recent denials' })
    await denials.getByRole('link', { name: 'reported' }).waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'keys-empty')
    await page.getByRole('region', { name: 'Hottest keys' }).getByRole('link', { name: 'acme / en' }).click()
    await page.getByRole('heading', { name: 'acme / en' }).waitFor()
    await ask(page, curl)
    await page.getByText('It would pass now').waitFor()
    await page.getByText('POST /v1/analyze, read from curl').waitFor()
    await page.getByRole('heading', { name: 'tenant-language' }).waitFor()
    await page.getByText('shop/tenant-language/acme/en').waitFor()
    await page.getByText('The address of this page leaves out authorization.').waitFor()
    await page.getByText('has no key, so only take() and its like use it').waitFor()
    expect(page.url()).not.toContain('very-secret')
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'keys-curl-desktop-light')
    await page.getByLabel('as if it came from').fill('192.0.2.7')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('shop/address/192.0.2.7').waitFor()
    expect(wrong).toEqual([])
    await close()
  })

  test('a link restores the view, also for a request', async () => {
    const request = JSON.stringify({
      method: 'POST',
      path: '/v1/analyze',
      headers: { 'x-tenant': 'acme' },
      body: { language: 'en' },
    })
    const view = `/keys?request=${encodeURIComponent(request)}&ip=192.0.2.8`
    const { page, wrong, close } = await openView(daemon, { view, width: 'phone', theme: 'dark' })
    await page.getByText('shop/address/192.0.2.8').waitFor()
    expect(await sidewaysScroll(page)).toBeUndefined()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'keys-request-phone-dark')
    expect(wrong).toEqual([])
    await close()
  })

  test('an explanation is asked for again once its hidden tab is shown', async () => {
    const { page, wrong, close } = await openView(daemon, { view: '/keys' })
    await page.clock.install()
    await ask(page, 'grace')
    await page.getByText('It would pass now').waitFor()
    const setHidden = (hidden: boolean) =>
      page.evaluate((value) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => value })
        document.dispatchEvent(new Event('visibilitychange'))
      }, hidden)
    await setHidden(true)
    await page.clock.runFor(10_000)
    const asked = page.waitForRequest((request) => request.url().endsWith('/v1/explain'), { timeout: 5000 })
    await setHidden(false)
    await page.clock.runFor(10_000)
    await asked
    expect(wrong).toEqual([])
    await close()
  })

  test('an explanation that takes longer than the pause between two is shown', async () => {
    const { page, wrong, close } = await openView(daemon, { view: '/keys' })
    await page.clock.install()
    const held: (() => void)[] = []
    await page.route('**/v1/explain', async (route) => {
      await new Promise<void>((resolve) => held.push(resolve))
      await route.continue()
    })
    await ask(page, 'grace')
    await expect.poll(() => held.length).toBe(1)
    await page.clock.runFor(5000)
    held[0]!()
    await page.getByText('It would pass now').waitFor({ timeout: 5000 })
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    expect(wrong).toEqual([])
    await close()
  })

  test('what only requests tell is asked for, and nothing is guessed without it', async () => {
    const { page, wrong, close } = await openView(daemon, { view: '/keys?key=shop%2Fby-plan%2Facme%2Feu' })
    await page.getByText('Its tier is not known here, and so its limits are not.').waitFor()
    await page.getByLabel('as if its tier were').fill('standard')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('1,000 left', { exact: true }).waitFor()
    expect(page.url()).toContain('tier=standard')
    await ask(page, 'acme / eu')
    await page.getByText('tier standard').first().waitFor()
    await page.getByLabel('as if its tier were').fill('')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('Not known: it depends on a tier that is not known here').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'keys-unknown-desktop-light')
    await ask(page, `curl -H 'x-tenant: acme' https://api.example/v1/plan`)
    await page.getByText('its tier comes from context.user.plan, which was not given').waitFor()
    await page.getByLabel('with the context').fill('user.plan=enterprise, user.id=1')
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('tier enterprise').waitFor()
    await page.getByText('It would pass now').waitFor()
    await picture(page, 'keys-context-desktop-light')
    expect(wrong).toEqual([])
    await close()
  })

  test('a key is shown as text, whatever it contains', async () => {
    const { page, wrong, close } = await openView(daemon, { view: '/keys', width: 'phone' })
    await ask(page, hostile)
    await page.locator('section', { hasText: 'shop/per-user/' }).getByRole('link', { name: 'Open key' }).click()
    await page.getByRole('heading', { name: hostile }).waitFor()
    await page.getByText('1 left', { exact: true }).waitFor()
    expect(await page.locator('main img').count()).toBe(0)
    expect(await sidewaysScroll(page)).toBeUndefined()
    await picture(page, 'keys-hostile-phone-light')
    expect(wrong).toEqual([])
    await close()
  })

  test('a reset needs a confirmation, can be cancelled, and is in the audit log', async () => {
    const view = '/keys?key=shop%2Fper-user%2Fada'
    const { page, wrong, close } = await openView(daemon, { view, theme: 'dark' })
    await page.getByText('full: next in').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'keys-full-desktop-dark')
    await page.getByRole('button', { name: 'Reset …' }).click()
    const dialog = page.getByRole('dialog', { name: 'Reset this key?' })
    await dialog.getByText('It forgets 3 of rpd').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'keys-reset-desktop-dark')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('full: next in').waitFor()
    await page.getByRole('button', { name: 'Reset …' }).press('Enter')
    await dialog.getByRole('button', { name: 'Reset' }).click()
    await page.getByText('Reset: the key starts with its whole limits.').waitFor()
    await page.getByText('3 left', { exact: true }).waitFor()
    await page.getByText(/by \S+ from/).waitFor()
    expect(wrong).toEqual([])
    await close()
  })

  test('a key is blocked for a while and unblocked by admins, each with a confirmation and an audit entry', async () => {
    const view = '/keys?key=shop%2Fper-user%2Fheidi'
    const { page, wrong, close } = await openView(daemon, { view, width: 'phone', theme: 'dark' })
    await page.getByText('Its next unit passes.').waitFor()
    expect(await page.getByRole('button', { name: 'Unblock …' }).count()).toBe(0)
    const take = () => send(`${daemon.url}/v1/check`, 'POST', { key: 'heidi', rule: 'per-user' })
    await page.getByRole('button', { name: 'Block …' }).click()
    const dialog = page.getByRole('dialog', { name: 'Block this key?' })
    await dialog.getByLabel('for how long').selectOption('1 hour')
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'keys-block-phone-dark')
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect((await take()).body).toMatchObject({ allowed: true })
    await page.getByRole('button', { name: 'Block …' }).click()
    await dialog.getByLabel('for how long').selectOption('1 hour')
    await dialog.getByRole('button', { name: 'Block', exact: true }).click()
    await page.getByText('Blocked: none of its requests passes.').waitFor()
    await page.getByText(/It is blocked; that ends in (59|60|1)/).waitFor()
    expect((await take()).body).toMatchObject({ allowed: false, reason: 'blocked' })
    expect(await seriousFindings(page)).toEqual([])
    expect(await sidewaysScroll(page)).toBeUndefined()
    await picture(page, 'keys-blocked-phone-dark')
    const looking = await openView(daemon, { view, signedIn: false })
    await signIn(looking.page, 'may-only-look')
    await looking.page.getByText('It is blocked').waitFor()
    expect(await looking.page.getByRole('button', { name: /^(Reset|Block|Unblock) …$/ }).count()).toBe(0)
    await looking.page.getByText('Your token may look, and change nothing.').waitFor()
    await picture(looking.page, 'keys-blocked-read-desktop-light')
    expect(looking.wrong).toEqual([])
    await looking.close()
    await page.getByRole('button', { name: 'Unblock …' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Unblock' }).click()
    await page.getByText('Unblocked: its limits alone decide again.').waitFor()
    await page.getByText('Its next unit passes.').waitFor()
    expect((await take()).body).toMatchObject({ allowed: true })
    const audited = (await send(`${daemon.url}/v1/audit`, 'GET')).body as { entries: object[] }
    const by = { who: expect.objectContaining({ name: 'admin', via: 'page' }), target: 'shop/per-user/heidi' }
    expect(audited.entries.slice(0, 2)).toMatchObject([
      { ...by, what: 'key.unblock' },
      { ...by, what: 'key.block', after: { for: 3_600_000 } },
    ])
    expect(wrong).toEqual([])
    await close()
  })

  test('an override is pushed with an end and removed again; the second of two operators gets a conflict', async () => {
    const view = '/keys?key=shop%2Fper-user%2Fgrace'
    const { page, wrong, close } = await openView(daemon, { view })
    page.setDefaultTimeout(8000)
    await page.getByLabel('per day').fill('500')
    await page.getByLabel('for how long').selectOption('4 hours')
    await page.getByRole('button', { name: 'Override …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/Now 3 per day\. Until .*500 per day/).waitFor()
    // Another operator pushes before it is confirmed.
    await send(`${daemon.url}/v1/policy`, 'PUT', readFileSync(file, 'utf8').replace('rpm: 120', 'rpm: 121'))
    await dialog.getByRole('button', { name: 'Override' }).click()
    await page.getByText('Nothing was changed: somebody else changed the policy meanwhile.').waitFor()
    await picture(page, 'keys-override-conflict-desktop-light')
    await expect
      .poll(async () => (await send(`${daemon.url}/v1/policy`, 'GET')).body)
      .toMatchObject({ text: expect.stringContaining('rpm: 121') })
    await page.getByRole('button', { name: 'Override …' }).click()
    await dialog.getByRole('button', { name: 'Override' }).click()
    await page.getByText('In force until').waitFor()
    await page.getByText('1 of 500').waitFor()
    await page.getByText('In force now: 500 per day').waitFor()
    expect(readFileSync(file, 'utf8')).toContain('# Keys of users are given by services.')
    await picture(page, 'keys-override-desktop-light')
    await page.getByRole('button', { name: 'Remove …' }).click()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('Removed: the limits of the rule hold again.').waitFor()
    await page.getByText('1 of 3').waitFor()
    expect(wrong).toEqual([])
    await close()
  })

  test('a source that cannot be written to disables overrides and shows why', async () => {
    const { page, wrong, close } = await openView(daemon, { signedIn: false, width: 'phone' })
    // Tests may run as root, whom no permission stops, so the answer of the daemon is changed in transit.
    await page.route('**/v1/policy', async (route) => {
      const response = await route.fetch()
      const readOnly = 'The daemon may not write to file sluice.yaml. Change the policy there, or let the daemon write.'
      await route.fulfill({ response, json: { ...(await response.json()), writable: false, readOnly } })
    })
    await signIn(page)
    await page.evaluate(() => {
      location.hash = '#/keys?key=shop%2Fper-user%2Fgrace'
    })
    await page.getByText('Overrides cannot be set here. The daemon may not write to file sluice.yaml.').waitFor()
    expect(await page.getByRole('button', { name: 'Override …' }).isDisabled()).toBe(true)
    expect(await page.getByRole('button', { name: 'Reset …' }).isEnabled()).toBe(true)
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'keys-read-only-phone-light')
    expect(wrong).toEqual([])
    await close()
  })
})
