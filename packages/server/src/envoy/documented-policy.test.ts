import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { resolveConfig } from '../config/config.ts'
import { validate } from '../validate.ts'

test('the policy of docs/envoy.md is valid for a daemon, without a warning', async () => {
  const page = readFileSync(new URL('../../../../docs/envoy.md', import.meta.url), 'utf8')
  const folder = mkdtempSync(join(tmpdir(), 'sluice-envoy-'))
  writeFileSync(join(folder, 'sluice.yaml'), /```yaml\n([\s\S]*?)```/.exec(page)![1]!)
  const validated = await validate(resolveConfig({ 'grpc-port': '0', policy: join(folder, 'sluice.yaml') }, {}))
  rmSync(folder, { recursive: true })
  expect(validated).toMatchObject({ rules: ['acme-login', 'any-tenant'], warnings: [] })
})
