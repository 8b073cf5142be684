import { copyFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Demo, openDemo } from '../../examples/demo/src/open-demo.ts'
import { adminToken, openView, picture } from './browser.ts'

/** The picture of the README needs minutes of traffic: `npm run screenshot` takes it. */
const minutes = Number(process.env.SLUICE_SCREENSHOT_MINUTES ?? 0)

describe('the demo', () => {
  let demo: Demo
  beforeAll(async () => {
    const options = { port: '0', env: { SLUICE_ADMIN_TOKEN: adminToken } }
    // The picture shows where the policy is, as of a daemon that is started beside it.
    if (minutes > 0) process.chdir(mkdtempSync(join(tmpdir(), 'sluice-picture-')))
    demo = await openDemo(minutes > 0 ? { ...options, policyFile: 'sluice.yaml' } : options)
  })
  afterAll(() => demo?.close())

  test(
    'lives on the page by itself',
    async () => {
      if (minutes > 0) await new Promise((resolve) => setTimeout(resolve, minutes * 60_000))
      const { page, wrong, close } = await openView(demo.daemon)
      await page.getByRole('region', { name: 'Rules' }).getByText('tenant', { exact: true }).waitFor()
      await page.waitForFunction(() => /[1-9]/.test(document.querySelector('.tile-value')?.textContent ?? ''))
      const refused = page.getByRole('region', { name: 'Who is being refused' }).getByText('acme-labs')
      if (minutes > 0) await refused.first().waitFor()
      const taken = await picture(page, 'demo')
      if (minutes > 0) copyFileSync(taken, fileURLToPath(new URL('../../docs/page.png', import.meta.url)))
      expect(wrong).toEqual([])
      await close()
    },
    (minutes + 1) * 60_000,
  )
})
