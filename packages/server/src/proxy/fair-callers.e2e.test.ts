import { once } from 'node:events'
import { Agent, createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { createEgress, type Egress } from 'sluice/egress'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type RunningProxy, startProxy } from './proxy.ts'

let vendor: Server
let egress: Egress
let proxy: RunningProxy
let agent: Agent
/** Who was served, in order. */
const served: string[] = []

beforeEach(async () => {
  served.length = 0
  vendor = createServer((asked, response) => {
    served.push(asked.url!.slice(1))
    response.end('ok')
  }).listen(0, '127.0.0.1')
  await once(vendor, 'listening')
  const origin = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`
  const upstream = { name: 'vendor', origin, limits: { amount: 10, per: '500ms' }, maxWait: '60s' }
  egress = await createEgress({ policy: { service: 's', upstreams: [upstream] } })
  const tokens = ['honest', 'greedy'].map((name) => ({ name, token: `token-of-${name}` }))
  const bounds = { maxBodyBytes: 1e6, drainMs: 0 }
  proxy = await startProxy(
    egress,
    { host: '127.0.0.1', port: 0, tokens: { current: tokens }, credentials: { current: {} }, ...bounds },
    pino({ level: 'silent' }),
  )
  agent = new Agent({ keepAlive: true })
})
afterEach(async () => {
  agent.destroy()
  await proxy.close()
  await egress.close({ within: 100 })
  vendor.closeAllConnections()
  vendor.close()
})

function call(name: string, tenant?: string): Promise<number> {
  const headers = {
    'x-internal-token': `token-of-${name}`,
    ...(tenant === undefined ? {} : { 'x-sluice-tenant': tenant }),
  }
  return new Promise((resolve, reject) => {
    const asked = request({ port: proxy.port, path: `/vendor/${name}`, headers, agent }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
    asked.on('error', reject).end()
  })
}

it('a caller gains nothing by a thousand tenants beside one that names none', async () => {
  const flood = Array.from({ length: 1000 }, (_, i) => call('greedy', `invented-${i}`).catch(() => 0))
  await expect.poll(() => egress.stats()[0]!.waiting, { timeout: 120_000 }).toBeGreaterThan(200)
  const before = served.length
  const honest = await Promise.all(Array.from({ length: 40 }, () => call('honest')))
  expect(honest).toEqual(Array.from({ length: 40 }, () => 200))
  const last = served.lastIndexOf('honest')
  const greedy = served.slice(before, last).filter((name) => name === 'greedy').length
  // Each gets its half; a round was under way when the honest one came, and one may end with the other.
  expect(greedy).toBeLessThanOrEqual(40 + 20)
  for (const each of flood) void each
}, 120_000)

it('a tenant that keeps its queue full does not lock out another tenant of the same caller', async () => {
  // Twice as many as one caller may have waiting.
  const flood = Array.from({ length: 3200 }, () => call('greedy', 'busy').catch(() => 0))
  await expect.poll(() => egress.stats()[0]!.waiting, { timeout: 120_000 }).toBeGreaterThan(200)
  const others = await Promise.all(Array.from({ length: 5 }, () => call('greedy', 'quiet')))
  expect(others).toEqual([200, 200, 200, 200, 200])
  for (const each of flood) void each
}, 120_000)
