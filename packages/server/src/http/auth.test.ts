import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
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
        proxy_pass ${daemon.url}/v1/auth?deny=403;
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
    expect((await fetch(`${daemon.url}/v1/auth`, { headers })).status).toBe(200)
  })

  test('any method may ask, and nonsense is refused', async () => {
    const headers = { 'x-forwarded-for': '198.51.100.4' }
    expect((await fetch(`${daemon.url}/v1/auth`, { method: 'POST', headers, body: '{}' })).status).toBe(200)
    expect((await fetch(`${daemon.url}/v1/auth?deny=200`, { headers })).status).toBe(400)
    expect(
      (await fetch(`${daemon.url}/v1/auth`, { headers: { ...headers, 'x-original-method': 'no method' } })).status,
    ).toBe(400)
  })
})
