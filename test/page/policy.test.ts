import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { send } from '../../packages/server/src/testing/started.ts'
import { seriousFindings, sidewaysScroll } from './accessibility.ts'
import { closeViews, openView, picture, signIn, startDaemon } from './browser.ts'

const policy = `# What the shop allows.
service: shop
tiers:
  free: { rpm: 60 }
rules:
  - name: per-tenant
    match: { path: "/v1/*" }
    key: headers.x-tenant
    limits: { rpm: 20 }
  - { name: per-user, limits: { rpd: 3 } }
`

describe('the page of the policy', { timeout: 120_000 }, () => {
  let daemon: Daemon
  const folder = mkdtempSync(join(tmpdir(), 'sluice-policy-page-'))
  const file = join(folder, 'sluice.yaml')
  beforeAll(async () => {
    writeFileSync(file, policy)
    daemon = await startDaemon({ policy: file })
    const tenants = [...Array(18).fill('acme'), ...Array(24).fill('globex'), ...Array(4).fill('initech')] as string[]
    for (const tenant of tenants)
      await send(`${daemon.url}/v1/check`, 'POST', { request: { path: '/v1/x', headers: { 'x-tenant': tenant } } })
  })
  afterAll(async () => {
    await closeViews()
    await daemon?.close()
    rmSync(folder, { recursive: true })
  })

  const content = (page: Page) => page.getByRole('textbox', { name: 'Policy' })
  /** Replaces a text as a person does: selects all, deletes it, and pastes. */
  const write = async (page: Page, text: string): Promise<void> => {
    await content(page).click()
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.press('Delete')
    await page.keyboard.insertText(text)
  }
  const inForce = async (): Promise<string> =>
    ((await send(`${daemon.url}/v1/policy`, 'GET')).body as { text: string }).text

  test('mistakes are underlined, in the words of the command line, and link to their line', async () => {
    const { page, wrong, close } = await openView(daemon, { view: '/policy' })
    await page.getByText('No mistakes: 2 rules').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'policy-desktop-light')
    await write(page, policy.replace('rpm: 20', 'rpm: -20').replace('limits: { rpd', 'limts: { rpd'))
    await page.getByText('3 mistakes').waitFor()
    await page.getByText('use a whole number of at least 0').waitFor()
    await page.getByText('did you mean "limits"?').waitFor()
    expect(await page.locator('.editor .cm-lintRange-error').allTextContents()).toContain('-20')
    expect(await page.getByRole('button', { name: 'Publish …' }).isDisabled()).toBe(true)
    await page.getByRole('button', { name: 'line 9' }).click()
    await page.keyboard.insertText('x')
    expect((await page.locator('.editor .cm-activeLine').textContent())?.trim()).toMatch(/^x/)
    await picture(page, 'policy-mistakes-desktop-light')
    expect(wrong).toEqual([])
    await close()
  })

  test('names and values are completed from the schema', async () => {
    const { page, wrong, close } = await openView(daemon, { view: '/policy', theme: 'dark' })
    await page.getByText('No mistakes: 2 rules').waitFor()
    await content(page).click()
    await page.keyboard.press('ControlOrMeta+End')
    await page.keyboard.type('  - name: third\n')
    await page.keyboard.type('onSt', { delay: 20 })
    await page.locator('.cm-tooltip-autocomplete').getByText('onStoreFailure').waitFor()
    await picture(page, 'policy-completion-desktop-dark')
    // The editor takes a key that comes too soon after the list for one of the text, so the list is clicked.
    await page.locator('.cm-tooltip-autocomplete').getByText('onStoreFailure').click()
    await expect.poll(() => content(page).textContent()).toContain('onStoreFailure: ')
    await page.keyboard.press('Control+Space')
    await page.locator('.cm-tooltip-autocomplete').getByText('recount').waitFor()
    await page.keyboard.press('Escape')
    expect(wrong).toEqual([])
    await close()
  })

  test('tries a policy with the last requests, and shows who would have been denied', async () => {
    const { page, wrong, close } = await openView(daemon, { view: '/policy', width: 'phone' })
    await page.getByText('No mistakes: 2 rules').waitFor()
    await write(page, policy.replace('rpm: 20', 'rpm: 10'))
    await page.getByText('rules[per-tenant].limits.rpm').waitFor()
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByText('46 requests in').waitFor()
    const row = page.getByRole('row', { name: /per-tenant\/globex/ })
    expect(await row.getByRole('cell').allTextContents()).toEqual(['per-tenant/globex', '4', '14', '+10'])
    expect(await sidewaysScroll(page)).toBeUndefined()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'policy-trial-phone-light')
    expect(await inForce()).toBe(policy)
    expect(wrong).toEqual([])
    await close()
  })

  test('two operators at once: the second sees a conflict, keeps the text, and overwrites nothing silently', async () => {
    const first = await openView(daemon, { view: '/policy' })
    const second = await openView(daemon, { view: '/policy', theme: 'dark' })
    for (const { page } of [first, second]) await page.getByText('No mistakes: 2 rules').waitFor()
    await write(second.page, policy.replace('rpm: 60', 'rpm: 61'))
    await second.page.getByText('tiers.free.rpm').waitFor()
    // The second has already opened the confirmation when the first publishes.
    await second.page.getByRole('button', { name: 'Publish …' }).click()
    await write(first.page, policy.replace('rpm: 20', 'rpm: 30'))
    await first.page.getByText('rules[per-tenant].limits.rpm').waitFor()
    await first.page.getByRole('button', { name: 'Publish …' }).click()
    await picture(first.page, 'policy-publish-desktop-light')
    await first.page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click()
    await first.page.getByText(/Published as revision \d/).waitFor()
    await second.page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click()
    await second.page.getByText('Somebody else has changed the policy while you were writing.').waitFor()
    expect(await second.page.getByRole('button', { name: 'Publish …' }).isDisabled()).toBe(true)
    expect(await content(second.page).textContent()).toContain('rpm: 61')
    expect(await inForce()).toContain('rpm: 30')
    expect(await seriousFindings(second.page)).toEqual([])
    await picture(second.page, 'policy-conflict-desktop-dark')
    // After a reload the text is still there, based on the same version.
    await second.page.reload()
    const signInForm = second.page.getByLabel('Code or admin token')
    await signInForm
      .or(second.page.getByRole('navigation', { name: 'Main' }))
      .first()
      .waitFor()
    if (await signInForm.isVisible()) await signIn(second.page)
    await second.page.getByText('Somebody else has changed the policy while you were writing.').waitFor()
    await second.page.getByRole('button', { name: 'Compare with theirs and go on' }).click()
    await second.page.getByText('rules[per-tenant].limits.rpm').waitFor()
    await picture(second.page, 'policy-compare-desktop-dark')
    await write(second.page, policy.replace('rpm: 20', 'rpm: 30').replace('rpm: 60', 'rpm: 61'))
    await second.page.getByRole('button', { name: 'Publish …' }).click()
    await second.page.getByRole('dialog').getByRole('button', { name: 'Publish' }).click()
    await second.page.getByText(/Published as revision \d/).waitFor()
    expect(readFileSync(file, 'utf8')).toBe(policy.replace('rpm: 20', 'rpm: 30').replace('rpm: 60', 'rpm: 61'))
    // The first has no new edits, so what the second published is simply shown.
    await first.page.getByText('rpm: 61').waitFor()
    for (const { wrong, close } of [first, second]) {
      expect(wrong).toEqual([])
      await close()
    }
  })

  test('the history shows who published what, and can restore it', async () => {
    const { page, wrong, close } = await openView(daemon, {
      view: '/policy/history',
      width: 'phone',
      theme: 'dark',
    })
    await page.getByText('revision 1', { exact: true }).waitFor()
    await page
      .getByText(/by \S+ from/)
      .first()
      .waitFor()
    await page
      .getByText(/tiers\.free\.rpm \d+ → \d+/)
      .first()
      .waitFor()
    expect(await sidewaysScroll(page)).toBeUndefined()
    expect(await seriousFindings(page)).toEqual([])
    await picture(page, 'policy-history-phone-dark')
    await page.getByRole('button', { name: 'Roll back …' }).last().click()
    await page.getByRole('dialog', { name: 'Go back to revision 1?' }).getByText('tiers.free.rpm').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click()
    await page.getByText('Revision 1 is published again').waitFor()
    await expect.poll(inForce).toBe(policy)
    expect(wrong).toEqual([])
    await close()
  })

  test('a source that cannot be written to is marked, and a trial still works', async () => {
    const { page, wrong, close } = await openView(daemon, { signedIn: false })
    await page.route('**/v1/policy', async (route) => {
      const response = await route.fetch()
      const readOnly = 'The policy comes from code, which cannot be written to.'
      await route.fulfill({ response, json: { ...(await response.json()), writable: false, readOnly } })
    })
    await signIn(page)
    await page.getByRole('link', { name: 'Policy', exact: true }).click()
    await page.getByText('The policy can be tried here, but not published. The policy comes from code').waitFor()
    await write(page, policy.replace('rpm: 20', 'rpm: 1'))
    await page.getByText('rules[per-tenant].limits.rpm').waitFor()
    expect(await page.getByRole('button', { name: 'Publish …' }).isDisabled()).toBe(true)
    await page.getByRole('button', { name: 'Try it' }).click()
    await page.getByText('46 requests in').waitFor()
    await picture(page, 'policy-read-only-desktop-light')
    expect(wrong).toEqual([])
    await close()
  })
})
