import { afterEach, describe, expect, test } from 'vitest'
import { createEgress } from '../create-egress.ts'
import type { Egress } from '../egress.ts'
import type { UpstreamHooks } from '../options.ts'
import { startVendor, type Vendor } from '../testing/vendor.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
})

const boom = (): never => {
  throw new Error('boom')
}
const rejecting = (async () => boom()) as never

async function start(hooks: UpstreamHooks): Promise<{ vendor: Vendor; egress: Egress; failed: string[] }> {
  const vendor = await startVendor((_, response) => {
    response.setHeader('content-type', 'application/json')
    response.end('{"usage":{"total_tokens":30}}')
  })
  const limits = [{ amount: 100, per: '1m', unit: 'tokens' }]
  const upstream = { name: 'vendor', origin: vendor.origin, limits, concurrency: 1 }
  const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] }, hooks: { vendor: hooks } })
  const failed: string[] = []
  egress.on('hookFailed', ({ upstream: name, hook, error }) => failed.push(`${name} ${hook}: ${error.message}`))
  opened.push(egress, vendor)
  return { vendor, egress, failed }
}

describe('a hook of the response that fails', () => {
  const promise = 'returned a promise; hooks of egress answer at once'
  test.each<[string, UpstreamHooks, string]>([
    ['settle throws', { settle: boom }, 'settle: boom'],
    ['settle returns no number', { settle: () => Number.NaN }, 'settle: a cost of NaN tokens cannot be'],
    ['settle returns text', { settle: () => '5' as never }, 'settle: a cost of "5" tokens cannot be'],
    ['settle is asynchronous', { settle: rejecting }, `settle: the hook settle ${promise}`],
    ['classify throws', { classify: boom }, 'classify: boom'],
    ['classify is asynchronous', { classify: rejecting }, `classify: the hook classify ${promise}`],
  ])('%s: the response is passed on, the place returned, the cost kept', async (_, hooks, reported) => {
    const { vendor, egress, failed } = await start(hooks)
    for (const cost of [40, 50]) {
      const response = await egress.fetch(vendor.origin, { sluice: { cost } })
      expect(await response.json()).toEqual({ usage: { total_tokens: 30 } })
    }
    const kept = hooks.settle ? 90 : 60
    await expect.poll(() => egress.stats()[0]).toMatchObject({ inFlight: 0, limits: [{ used: kept }, {}] })
    expect(failed).toEqual([`vendor ${reported}`, `vendor ${reported}`])
  })

  test('a wait that is no number is ignored', async () => {
    const { vendor, egress } = await start({ classify: () => ({ limited: true, retryAfterMs: Number.NaN }) })
    await egress.fetch(vendor.origin, { sluice: { maxWait: 1 } })
    await expect.poll(() => egress.stats()[0]!.pausedMs).toBeGreaterThan(0)
  })
})

test.each<[string, UpstreamHooks]>([
  ['fairBy', { fairBy: rejecting }],
  ['scope', { scope: rejecting }],
  ['cost', { cost: rejecting }],
])('an asynchronous %s refuses the call with an error that says so', async (name, hooks) => {
  const { vendor, egress } = await start(hooks)
  await expect(egress.fetch(vendor.origin)).rejects.toMatchObject({
    code: 'SLUICE_WRONG_USE',
    message: expect.stringContaining(`the hook ${name} returned a promise`),
  })
  expect(vendor.arrivals).toHaveLength(0)
})

test('cost is asked once, however many attempts a call needs', async () => {
  let [attempts, asked] = [0, 0]
  const vendor = await startVendor((_, response) => response.writeHead(++attempts === 1 ? 503 : 200).end())
  const limits = [{ amount: 100, per: '1m', unit: 'tokens' }]
  const upstream = { name: 'vendor', origin: vendor.origin, limits, retry: { base: '1ms' } }
  const hooks = { vendor: { cost: () => (++asked === 1 ? 5 : boom()) } }
  const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] }, hooks })
  opened.push(egress, vendor)
  expect((await egress.fetch(vendor.origin)).status).toBe(200)
  expect([attempts, asked]).toEqual([2, 1])
})
