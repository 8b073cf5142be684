import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { resolveConfig } from '../config/config.ts'
import { startDaemon } from '../testing/started.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-forwarded-'))
const policy = join(folder, 'sluice.yaml')
writeFileSync(policy, 'service: edge\nrules: [{ name: per-address, key: ip, limits: { rpd: 3 } }]\n')
afterAll(() => rmSync(folder, { recursive: true }))

const written = { forwarded: 'for=198.51.100.1', 'x-forwarded-for': '198.51.100.1' }
const forged = { forwarded: 'for=203.0.113.9', 'x-forwarded-for': '203.0.113.9' }

test.each([
  ['x-forwarded-for', 'forwarded'],
  ['forwarded', 'x-forwarded-for'],
] as const)(
  'told that proxies write %s, the daemon does not look at %s, which clients can send',
  async (own, other) => {
    const daemon = await startDaemon({ policy, 'forwarded-by': own })
    const ask = async (more: Readonly<Record<string, string>>): Promise<number> => {
      const headers = { 'x-original-uri': '/', 'x-original-method': 'GET', [own]: written[own], ...more }
      return (await fetch(`${daemon.url}/v1/auth?headers=x-original`, { headers })).status
    }
    try {
      const statuses: number[] = []
      for (let i = 0; i < 3; i++) statuses.push(await ask({ [other]: forged[other] }), await ask({}))
      expect(statuses).toEqual([200, 200, 200, 429, 429, 429])
    } finally {
      await daemon.close()
    }
  },
)

test('comes from a flag or the environment, and must be one of the headers there are', () => {
  expect(resolveConfig({}, {}).forwardedBy).toBe('either')
  expect(resolveConfig({ 'forwarded-by': 'forwarded' }, {}).forwardedBy).toBe('forwarded')
  expect(resolveConfig({}, { SLUICE_FORWARDED_BY: 'x-forwarded-for' }).forwardedBy).toBe('x-forwarded-for')
  expect(() => resolveConfig({ 'forwarded-by': 'x-real-ip' }, {})).toThrow(/forwarded-by/)
})
