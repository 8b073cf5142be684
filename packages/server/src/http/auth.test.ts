import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startNginx } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../serve.ts'
import { startDaemon } from '../testing/started.ts'

const policy = `
service: edge
rules:
  - name: writes
    match: { method: POST, path: /orders/* }
    key: [ip, headers.x-api-key]
    limits: { rpd: 2 }
  - name: reads
    match: { method: GET, path: /orders/* }
    key: ip
    limits: { rpd: 3 }
`

describe('/v1/auth', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-auth-'))
  let daemon: Daemon
  let nginx: Awaited<ReturnType<typeof startNginx>>

  beforeAll(async () => {
    const file = join(folder, 'sluice.yaml')
    writeFileSync(file, policy)
    daemon = await startDaemon({ policy: file })
    nginx = await startNginx(`
      location / {
        auth_request /sluice;
        auth_request_set $wait $upstream_http_retry_after;
        error_page 403 = @limited;
        return 200 "passed\\n";
      }
      location /orders/ {
        auth_request /sluice;
        auth_request_set $wait $upstream_http_retry_after;
        auth_request_set $left $upstream_http_ratelimit;
        add_header RateLimit $left;
        error_page 403 = @limited;
        try_files /nothing @backend;
      }
      location @backend { return 200 "passed\\n"; }
      location @limited {
        add_header Retry-After $wait always;
        return 429 "limited\\n";
      }
      location = /sluice {
        internal;
        proxy_pass ${daemon.url}/v1/auth?headers=x-original&deny=403;
        proxy_pass_request_body off;
        proxy_set_header Content-Length "";
        proxy_set_header X-Original-Method $request_method;
        proxy_set_header X-Original-URI $request_uri;
        proxy_set_header X-Forwarded-For $remote_addr;
      }
    `)
  })
  afterAll(async () => {
    await nginx?.stop()
    await daemon?.close()
    rmSync(folder, { recursive: true })
  })

  test('lets nginx limit what it serves', async () => {
    const post = (key: string) =>
      fetch(`${nginx.url}/orders/1?x=y`, { method: 'POST', headers: { 'x-api-key': key }, body: 'body' })
    expect((await post('a')).status).toBe(200)
    expect((await post('a')).status).toBe(200)
    const denied = await post('a')
    expect(denied.status).toBe(429)
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await post('b')).status).toBe(200)
    for (const expected of [200, 200, 200, 429]) expect((await fetch(`${nginx.url}/orders/1`)).status).toBe(expected)
  })

  const original = { 'x-original-method': 'GET', 'x-original-uri': '/elsewhere' }
  const forwarded = (uri: string, address: string, method = 'GET') =>
    fetch(`${daemon.url}/v1/auth`, {
      headers: { 'x-forwarded-uri': uri, 'x-forwarded-method': method, 'x-forwarded-for': address },
    })

  test('understands the headers of Traefik and Caddy, and answers 429 by itself', async () => {
    for (const expected of [200, 200, 200, 429])
      expect((await forwarded('/orders/2', '198.51.100.1')).status).toBe(expected)
    const denied = await forwarded('/orders/2', '198.51.100.1')
    expect(denied.headers.get('content-type')).toBe('application/problem+json')
    expect(denied.headers.get('ratelimit-policy')).toContain('q=3;w=86400')
    expect((await forwarded('/orders/2', '198.51.100.2')).status).toBe(200)
  })

  test('answers what /v1/check answers for the same decision', async () => {
    const request = { method: 'GET', path: '/orders/9', ip: '198.51.100.7' }
    const check = () =>
      fetch(`${daemon.url}/v1/check?mirror=true`, { method: 'POST', body: JSON.stringify({ request }) })
    const told = ({ status, headers }: Response) => ({
      status,
      policy: headers.get('ratelimit-policy'),
      // What is left differs by what the other one has just spent.
      left: headers.get('ratelimit')?.replace(/r=\d+/, 'r=?'),
      type: status === 200 ? undefined : headers.get('content-type'),
      waits: headers.has('retry-after'),
    })
    expect(told(await check())).toEqual(told(await forwarded('/orders/9', '198.51.100.7')))
    await check()
    const [checked, asked] = [await check(), await forwarded('/orders/9', '198.51.100.7')]
    expect(told(checked)).toEqual(told(asked))
    expect(checked.status).toBe(429)
    const { decision, ...problem } = (await checked.json()) as { decision: { rule: string } }
    expect([problem, decision.rule]).toEqual([await asked.json(), 'reads'])
  })

  test('requests of browsers from other sites pass through a proxy as well', async () => {
    const headers = {
      origin: 'https://shop.example',
      'sec-fetch-site': 'cross-site',
      'x-forwarded-for': '198.51.100.3',
    }
    expect((await fetch(`${daemon.url}/v1/auth`, { headers: { ...original, ...headers } })).status).toBe(200)
  })

  test('any method may ask, and nonsense is refused', async () => {
    const headers = { ...original, 'x-forwarded-for': '198.51.100.4' }
    expect((await fetch(`${daemon.url}/v1/auth`, { method: 'POST', headers, body: '{}' })).status).toBe(200)
    for (const query of ['deny=200', 'headers=x-other', 'from=x-original', 'deny=403&deny=403'])
      expect((await fetch(`${daemon.url}/v1/auth?${query}`, { headers })).status).toBe(400)
    for (const [name, value] of [
      ['x-original-method', 'no method'],
      ['x-original-uri', 'no/path'],
      ['x-original-uri', 'ftp://host/path'],
    ] as const)
      expect((await fetch(`${daemon.url}/v1/auth`, { headers: { ...headers, [name]: value } })).status).toBe(400)
  })

  test('a proxy that does not say what it asks about is refused, instead of allowed', async () => {
    expect((await fetch(`${daemon.url}/v1/auth`)).status).toBe(400)
    const half = { 'x-original-uri': '/orders/1' }
    expect((await fetch(`${daemon.url}/v1/auth`, { headers: half })).status).toBe(400)
    const mixed = { ...half, 'x-forwarded-method': 'DELETE' }
    expect((await fetch(`${daemon.url}/v1/auth`, { headers: mixed })).status).toBe(400)
    expect((await fetch(`${daemon.url}/v1/auth?headers=x-forwarded`, { headers: original })).status).toBe(400)
  })

  describe('a client cannot choose the path that rules see', () => {
    const written = { 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/orders/7' }
    const ask = (more: Record<string, string>, query = '') =>
      fetch(`${daemon.url}/v1/auth${query}`, { headers: { ...written, ...more } })

    test('by headers of the other family, where the operator named one', async () => {
      const address = { 'x-forwarded-for': '198.51.100.20' }
      const added = { 'x-original-uri': '/free', 'x-original-method': 'DELETE' }
      const statuses = []
      for (let i = 0; i < 4; i++) statuses.push((await ask({ ...address, ...added }, '?headers=x-forwarded')).status)
      expect(statuses).toEqual([200, 200, 200, 429])
    })

    test.each([{ 'x-original-uri': '/free' }, { 'x-original-method': 'DELETE' }])(
      'by %j, where none is named: a contradiction is refused',
      async (added) => {
        expect((await ask({ ...added, 'x-forwarded-for': '198.51.100.21' })).status).toBe(400)
        const denied = await ask({ ...added, 'x-forwarded-for': '198.51.100.21' }, '?deny=403')
        expect([denied.status, denied.headers.get('sluice-status')]).toEqual([403, '400'])
      },
    )

    test('by a header that is there twice', async () => {
      const answered = await new Promise<number>((resolve, reject) => {
        const sent = request(
          `${daemon.url}/v1/auth`,
          {
            headers: [
              ['x-original-uri', '/free'],
              ['x-original-uri', '/orders/1'],
              ['x-original-method', 'GET'],
            ].flat(),
          },
          (response) => {
            response.resume()
            resolve(response.statusCode!)
          },
        )
        sent.once('error', reject)
        sent.end()
      })
      expect(answered).toBe(400)
    })

    test.each([
      '/free/../orders/9',
      '/orders/9/.',
      '/free/%2e%2E/orders/9',
      '/free/..%2forders/9',
      '/free/..\\orders/9',
      '/..;/x',
    ])('by dot segments: %s is refused', async (uri) =>
      expect((await ask({ 'x-forwarded-uri': uri })).status).toBe(400),
    )

    test.each(['/orders/...', '/orders/a..b', '/orders/.hidden', '/orders/x?a=/../b'])('%s has none', async (uri) => {
      expect((await ask({ 'x-forwarded-uri': uri, 'x-forwarded-for': '198.51.100.90' })).status).not.toBe(400)
    })

    test.each([
      ['a target that reads like a host', '//orders/9'],
      ['a fragment', '/orders/9#x'],
      ['an absolute target', 'http://other.example/orders/9'],
    ])('by %s', async (_, uri) => {
      const statuses = []
      for (let i = 0; i < 4; i++)
        statuses.push(
          (await ask({ 'x-forwarded-uri': uri, 'x-forwarded-for': `198.51.100.${30 + uri.length}` })).status,
        )
      expect(statuses).toEqual([200, 200, 200, 429])
    })
  })

  test('says what the denial was also where the proxy knows only one status', async () => {
    const address = '198.51.100.50'
    for (let i = 0; i < 3; i++) await forwarded('/orders/2', address)
    const denied = await fetch(`${daemon.url}/v1/auth?deny=403`, {
      headers: { 'x-forwarded-uri': '/orders/2', 'x-forwarded-method': 'GET', 'x-forwarded-for': address },
    })
    expect([denied.status, denied.headers.get('sluice-status')]).toEqual([403, '429'])
  })
})
