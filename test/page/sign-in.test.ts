import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../packages/server/src/serve.ts'
import { seriousFindings, sidewaysScroll } from './accessibility.ts'
import { adminToken, closeViews, openView, picture, startDaemon, type View } from './browser.ts'

describe('signing in to the page', () => {
  let daemon: Daemon
  let view: View
  beforeAll(async () => {
    daemon = await startDaemon()
  })
  afterEach(() => view.close())
  afterAll(async () => {
    await closeViews()
    await daemon?.close()
  })

  test.each([
    ['light', 'desktop'],
    ['dark', 'phone'],
  ] as const)('a wrong token is refused and says why, %s, %s', async (theme, width) => {
    view = await openView(daemon, { signedIn: false, theme, width })
    const { page, wrong } = view
    await page.getByLabel('Code or admin token').fill('wrong-token')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('neither a token nor a code').waitFor()
    expect(await seriousFindings(page)).toEqual([])
    expect(await sidewaysScroll(page)).toBeUndefined()
    await picture(page, `sign-in-${width}-${theme}`)
    expect(wrong).toEqual([])
  })

  test('the token leaves no trace in the address, in storage, or where scripts can read it', async () => {
    view = await openView(daemon, { view: '/rules?sort=denied' })
    const { page, context } = view
    // The view of the link is still there.
    expect(page.url()).toBe(`${daemon.url}/#/rules?sort=denied`)
    const kept = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie, location]))
    expect(kept).not.toContain(adminToken)
    expect(kept).not.toContain('sluice_session')
    expect(await context.cookies()).toEqual([
      expect.objectContaining({ httpOnly: true, sameSite: 'Strict', expires: -1, path: '/' }),
    ])
    // Another tab of the same browser is signed in, too.
    const other = await context.newPage()
    await other.goto(daemon.url)
    await other.getByRole('navigation', { name: 'Main' }).waitFor()
    await other.getByRole('button', { name: 'Sign out' }).click()
    await other.getByLabel('Code or admin token').waitFor()
    await other.reload()
    await other.getByLabel('Code or admin token').waitFor()
  })

  test('the link of sluice serve signs in once, and its code leaves the address', async () => {
    view = await openView(daemon, { signedIn: false })
    const { page, context } = view
    const link = `${daemon.url}/#code=${daemon.signInCode()}`
    const fresh = await context.newPage()
    await fresh.goto(link)
    await fresh.getByRole('navigation', { name: 'Main' }).waitFor()
    expect(fresh.url()).toBe(`${daemon.url}/#/`)
    await context.clearCookies()
    await page.goto('about:blank')
    await page.goto(link)
    await page.getByText('was used already or is older than a minute').waitFor()
  })

  test('a page of another origin can neither read nor change anything with the session', async () => {
    view = await openView(daemon)
    const { context } = view
    const other = createServer((_, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>Another site</title>')
    })
    await new Promise<void>((resolve) => other.listen(0, 'localhost', resolve))
    const evil = await context.newPage()
    await evil.goto(`http://localhost:${(other.address() as AddressInfo).port}`)
    const results = await evil.evaluate(async (url) => {
      const ask = (path: string, init: RequestInit): Promise<string> =>
        fetch(url + path, { credentials: 'include', ...init }).then(
          (response) => `${response.type} ${response.status}`,
          () => 'blocked',
        )
      return [
        await ask('/v1/policy', {}),
        await ask('/v1/policy', { mode: 'no-cors' }),
        await ask('/v1/keys/example/per-user/a', { method: 'DELETE', headers: { 'x-sluice-page': '1' } }),
        await ask('/v1/session', { method: 'POST', body: '{"secret":"x"}', headers: { 'x-sluice-page': '1' } }),
        await ask('/v1/policy/rollback', { method: 'POST', mode: 'no-cors', body: '{}' }),
      ]
    }, daemon.url)
    expect(results).toEqual(['blocked', 'blocked', 'blocked', 'blocked', 'blocked'])
    const framed = await evil.evaluate(
      (url) =>
        new Promise((resolve) => {
          const frame = document.createElement('iframe')
          frame.src = url
          frame.onload = () => resolve(frame.contentDocument === null)
          document.body.append(frame)
        }),
      daemon.url,
    )
    expect(framed).toBe(true)
    other.close()
    other.closeAllConnections()
  })
})
