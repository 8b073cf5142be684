import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from './serve.ts'
import { startDaemon } from './testing/started.ts'
import { caddy, haproxy, isInstalled, nginx, type StartedProxy, type StartProxy } from './testing/started-proxy.ts'

const policy = `
service: edge
rules:
  - { name: login, match: { method: POST, path: /login }, key: headers.x-user, limits: { rpd: 3 } }
  - { name: by-address, match: { path: /mine }, key: ip, limits: { rpd: 3 } }
  - { name: keyed, match: { path: /keyed }, key: headers.x-api-key, onMissing: deny, limits: { rpd: 3 } }
`

describe.each<readonly [string, StartProxy]>([
  ['nginx', nginx],
  ['haproxy', haproxy],
  ['caddy', caddy],
])('the recipe for %s', (name, start) => {
  const has = isInstalled(name)
  const folder = mkdtempSync(join(tmpdir(), 'sluice-proxies-'))
  const bodies: string[] = []
  let daemon: Daemon
  let app: Server
  let proxy: StartedProxy
  const portOf = (url: string): number => Number(new URL(url).port)

  beforeAll(async () => {
    if (!has) return
    const file = join(folder, 'sluice.yaml')
    writeFileSync(file, policy)
    daemon = await startDaemon({ policy: file })
    app = createServer(async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      bodies.push(body)
      response.end('passed')
    }).listen(0, '127.0.0.1')
    await once(app, 'listening')
    proxy = await start(portOf(daemon.url), (app.address() as AddressInfo).port, 'fail open')
  })
  afterAll(async () => {
    await proxy?.stop()
    await daemon?.close()
    app?.close()
    rmSync(folder, { recursive: true })
  })

  const statuses = async (path: string, method: string, headers: Record<string, string>, times = 5) => {
    const seen: number[] = []
    for (let i = 0; i < times; i++) seen.push((await fetch(proxy.url + path, { method, headers })).status)
    return seen
  }

  test.skipIf(!has)('limits, says how long to wait, and passes bodies on', async () => {
    const post = () =>
      fetch(`${proxy.url}/login?a=b`, { method: 'POST', headers: { 'x-user': 'u1' }, body: 'the body' })
    for (let i = 0; i < 3; i++) expect((await post()).status).toBe(200)
    expect(bodies.filter((body) => body === 'the body')).toHaveLength(3)
    const denied = await post()
    expect(denied.status).toBe(429)
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(bodies.filter((body) => body === 'the body')).toHaveLength(3)
  })

  test.skipIf(!has).each([
    { 'x-original-uri': '/free' },
    { 'x-original-method': 'GET' },
    { 'x-forwarded-uri': '/free', 'x-forwarded-method': 'GET' },
    {
      'x-original-uri': '/free',
      'x-original-method': 'GET',
      'x-forwarded-uri': '/free',
      'x-forwarded-method': 'GET',
    },
  ])('a client cannot choose the rule with %j', async (headers) => {
    const user = JSON.stringify(headers).replace(/\W/g, '')
    expect(await statuses('/login', 'POST', { ...headers, 'x-user': user })).toEqual([200, 200, 200, 429, 429])
  })

  test.skipIf(!has)('a client cannot choose its address', async () => {
    const seen: number[] = []
    for (let i = 0; i < 5; i++) {
      const address = `203.0.113.${i}`
      seen.push(...(await statuses('/mine', 'GET', { 'x-forwarded-for': address, forwarded: `for=${address}` }, 1)))
    }
    expect(seen).toEqual([200, 200, 200, 429, 429])
  })

  test.skipIf(!has)('a request that lacks what a rule needs gets 400', async () => {
    expect(await statuses('/keyed', 'GET', {}, 1)).toEqual([400])
  })

  test.skipIf(!has).each([
    ['fail open', [200, 200, 200, 200, 200]],
    ['fail closed', expect.not.arrayContaining([200])],
  ] as const)('the daemon is away: %s', async (away, expected) => {
    const gone = await startDaemon()
    const other = await start(portOf(gone.url), (app.address() as AddressInfo).port, away)
    await gone.close()
    try {
      // At the same time: HAProxy tries three times, a second apart.
      const post = async () => (await fetch(`${other.url}/login`, { method: 'POST', body: 'b' })).status
      const seen = await Promise.all(Array.from({ length: 5 }, post))
      expect(seen).toEqual(expected)
      if (away === 'fail closed') expect(Math.min(...seen)).toBeGreaterThanOrEqual(502)
    } finally {
      await other.stop()
    }
  })
})
