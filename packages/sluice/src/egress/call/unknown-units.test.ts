import { afterEach, expect, test, vi } from 'vitest'
import { createEgress } from '../create-egress.ts'
import { startVendor } from '../testing/vendor.ts'

afterEach(() => vi.restoreAllMocks())

test('a cost in units that no limit counts is warned of once, by name', async () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const vendor = await startVendor((_, response) => void response.end('{}'))
  const limits = [{ amount: 1000, per: '1m', unit: 'tokens' }]
  const egress = await createEgress({
    policy: { service: 's', upstreams: [{ name: 'model', origin: vendor.origin, limits }] },
    hooks: { model: { settle: () => ({ outputs: 7, tokens: 5 }) } },
  })
  for (let i = 0; i < 2; i++) {
    await (await egress.fetch(vendor.origin, { sluice: { cost: { token: 500 } } })).text()
    await egress.run('model', () => {}, { cost: { tokens: 5, image: 1 } })
  }
  await expect.poll(() => warn.mock.calls.length).toBe(3)
  const told = (warn.mock.calls as unknown[][]).map(([message]) => message)
  expect(told).toContain(
    'A cost for the upstream model is in "token", which it does not limit; did you mean "tokens"? its limits count tokens.',
  )
  expect(told.join()).toMatch(/"image".*"outputs"|"outputs".*"image"/)
  await egress.close()
  await vendor.close()
})
