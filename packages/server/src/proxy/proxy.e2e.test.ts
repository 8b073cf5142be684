import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { gunzipSync, gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { createEgress, type Egress } from 'sluice/egress'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ProxyConfig, type RunningProxy, startProxy } from './proxy.ts'

interface Seen {
  readonly url: string
  readonly method: string
  readonly headers: IncomingMessage['headers']
  readonly rawHeaders: readonly string[]
  readonly body: string
}

let vendor: Server
let seen: Seen[]
let respond: (request: IncomingMessage, response: ServerResponse, body: string) => void
let egress: Egress
let proxy: RunningProxy
const logs: Record<string, unknown>[] = []
const log = pino({}, { write: (line: string) => void logs.push(JSON.parse(line)) })

async function start(changes: Partial<ProxyConfig> = {}, upstream: object = {}): Promise<void> {
  const origin = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`
  const limits = { amount: 1000, per: '1s' }
  egress = await createEgress({
    policy: { service: 's', upstreams: [{ name: 'vendor', origin: `${origin}/base`, limits, ...upstream }] } as never,
  })
  proxy = await startProxy(
    egress,
    {
      host: '127.0.0.1',
      port: 0,
      tokens: { current: [] },
      credentials: { current: {} },
      maxBodyBytes: 1e6,
      drainMs: 2000,
      ...changes,
    },
    log,
  )
}

beforeEach(async () => {
  seen = []
  logs.length = 0
  respond = (_, response) => void response.end('ok')
  vendor = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const body = Buffer.concat(pieces).toString('latin1')
    seen.push({
      url: request.url!,
      method: request.method!,
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      body,
    })
    respond(request, response, body)
  })
  vendor.listen(0, '127.0.0.1')
  await once(vendor, 'listening')
})
afterEach(async () => {
  await proxy?.close()
  await egress?.close()
  vendor.close()
  vendor.closeAllConnections()
})

/** Sends bytes unchanged, and returns all that comes back until the connection ends or is quiet. */
function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(proxy.port, '127.0.0.1', () => socket.write(text, 'latin1'))
    let answer = ''
    socket.setTimeout(1500, () => socket.destroy())
    socket.on('data', (piece) => {
      answer += piece.toString('latin1')
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}

describe('the proxy', () => {
  it('forwards a request and its response, with bodies, ids and one line in the log', async () => {
    await start()
    respond = (_, response, body) => {
      response.setHeader('x-vendor', 'yes')
      response.statusCode = 201
      response.end(`got ${body}`)
    }
    const response = await fetch(`${proxy.url}/graphql?secret=1`, {
      method: 'POST',
      body: 'query',
      headers: { 'x-request-id': 'abc-1' },
    })
    expect([response.status, await response.text(), response.headers.get('x-vendor')]).toEqual([
      201,
      'got query',
      'yes',
    ])
    expect(response.headers.get('x-request-id')).toBe('abc-1')
    expect(seen[0]).toMatchObject({ url: '/base/graphql?secret=1', method: 'POST', body: 'query' })
    expect(seen[0]!.headers['x-request-id']).toBe('abc-1')
    expect(seen[0]!.headers.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    expect(seen[0]!.headers.host).toMatch(/^127\.0\.0\.1:/)
    await expect.poll(() => logs.length).toBe(1)
    expect(logs[0]).toMatchObject({
      upstream: 'vendor',
      method: 'POST',
      path: '/graphql',
      status: 201,
      requestId: 'abc-1',
    })
    expect(JSON.stringify(logs)).not.toContain('secret')
  })

  it('passes compressed bodies, event streams and trailers unharmed', async () => {
    await start()
    const zipped = gzipSync('hello')
    respond = (_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', trailer: 'x-sum' })
      response.write(zipped)
      response.addTrailers({ 'x-sum': 'abc' })
      response.end()
    }
    const answer = await raw('GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expect(answer).toMatch(/x-sum: abc\r\n\r\n$/i)
    const body = answer.slice(answer.indexOf('\r\n\r\n') + 4)
    const size = Number.parseInt(body, 16)
    const start1 = body.indexOf('\r\n') + 2
    expect(gunzipSync(Buffer.from(body.slice(start1, start1 + size), 'latin1')).toString()).toBe('hello')
  })

  it('streams a response as it comes', async () => {
    await start()
    let finish: () => void = () => {}
    respond = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n')
      finish = () => response.end('data: 2\n\n')
    }
    const response = await fetch(`${proxy.url}/events`)
    const reader = response.body!.getReader()
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('data: 1\n\n')
    finish()
    expect(Buffer.from((await reader.read()).value!).toString()).toBe('data: 2\n\n')
  })

  it('removes headers of one hop before it adds its own, in both directions', async () => {
    await start({ credentials: { current: { vendor: { authorization: 'Bearer vendor-secret' } } } })
    respond = (_, response) => {
      response.setHeader('connection', 'x-hop')
      response.setHeader('x-hop', '1')
      response.setHeader('keep-alive', 'timeout=9')
      response.end('ok')
    }
    const answer = await raw(
      'GET /x HTTP/1.1\r\nHost: a\r\nConnection: close, authorization, x-mine\r\nX-Mine: 1\r\nAuthorization: Bearer caller\r\n' +
        'Cookie: a=b\r\nX-Forwarded-For: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\nProxy-Authorization: x\r\nTE: trailers\r\nUpgrade: h2c\r\n' +
        'X-Internal-Token: t\r\nX-Keep: kept\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 200/)
    expect(answer).not.toMatch(/x-hop|timeout=9/i)
    const { headers } = seen[0]!
    expect(headers).toMatchObject({ authorization: 'Bearer vendor-secret', 'x-keep': 'kept', via: '1.1 sluice' })
    for (const name of [
      'x-mine',
      'cookie',
      'x-forwarded-for',
      'forwarded',
      'proxy-authorization',
      'te',
      'upgrade',
      'x-internal-token',
    ])
      expect(headers[name], name).toBeUndefined()
  })

  it.each([
    [
      'both framings',
      'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['two lengths', 'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello'],
    ['a list of lengths', 'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello'],
    ['chunked not last', 'POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n'],
    ['a space before the colon', 'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello'],
    ['a bare line feed', 'POST /x HTTP/1.1\nHost: a\nContent-Length: 5\n\nhello'],
    ['a folded header', 'GET /x HTTP/1.1\r\nHost: a\r\nX-A: b\r\n c\r\n\r\n'],
    ['100 kB of headers', `GET /x HTTP/1.1\r\nHost: a\r\nX-A: ${'a'.repeat(100_000)}\r\n\r\n`],
  ])('refuses %s without calling the vendor', async (_, text) => {
    await start()
    const answer = await raw(text)
    expect(answer === '' || /^HTTP\/1\.1 4\d\d/.test(answer)).toBe(true)
    expect(seen).toEqual([])
  })

  it('frames bodies itself: a DELETE with chunks arrives as one request', async () => {
    await start()
    await raw(
      'DELETE /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    )
    expect(seen).toHaveLength(1)
    expect(seen[0]).toMatchObject({ method: 'DELETE', body: 'hello' })
  })

  it.each([
    ['CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n', 405],
    ['TRACE /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 405],
    ['GET //evil.example/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 400],
    ['GET /vendor/%2e%2e/admin HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 400],
    ['OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 400],
    ['GET /x HTTP/1.1\r\nHost: a\r\nVia: 1.1 sluice\r\nConnection: close\r\n\r\n', 508],
  ])('%j is answered %d', async (text, status) => {
    await start()
    expect(await raw(text)).toMatch(new RegExp(`^HTTP/1\\.1 ${status}`))
    expect(seen).toEqual([])
  })

  it('goes to the configured upstream whatever Host and authority contain', async () => {
    await start()
    await raw('GET http://evil.example/x HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n')
    expect(seen[0]).toMatchObject({ url: '/base/x' })
    expect(seen[0]!.headers.host).not.toContain('evil')
  })

  it('passes redirects on, and leads those within the upstream back through the proxy', async () => {
    await start()
    const { origin } = egress.upstreams[0]!
    respond = (request, response) => {
      const locations = { in: `${origin}/base/next`, path: '/base/next', out: 'https://elsewhere.example/' }
      const location = locations[request.url!.slice('/base/'.length) as keyof typeof locations]
      response.writeHead(302, { location }).end()
    }
    const locate = async (path: string) =>
      (await fetch(`${proxy.url}${path}`, { redirect: 'manual' })).headers.get('location')
    expect(await locate('/in')).toBe('/vendor/next')
    expect(await locate('/path')).toBe('/vendor/next')
    expect(await locate('/out')).toBe('https://elsewhere.example/')
    expect(seen).toHaveLength(3)
  })

  it('requires the token of internal callers; two are valid at once', async () => {
    await start({ tokens: { current: ['old', 'new'].map((token) => ({ name: 'internal', token })) } })
    const status = async (token?: string) =>
      (await fetch(`${proxy.url}/x`, { headers: token === undefined ? {} : { 'x-internal-token': token } })).status
    expect([await status(), await status('wrong'), await status('old'), await status('new')]).toEqual([
      401, 401, 200, 200,
    ])
    expect((await fetch(`${proxy.url}/health`)).status).toBe(200)
    expect((await fetch(`${proxy.url}/ready`)).status).toBe(200)
  })

  it('answers 429 with Retry-After and the reason when the wait would be too long or the queue is full', async () => {
    await start({}, { limits: { amount: 1, per: '10s' }, maxWait: '1s', maxQueue: 1 })
    expect((await fetch(`${proxy.url}/x`)).status).toBe(200)
    const refused = await fetch(`${proxy.url}/x`)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await refused.json()).toMatchObject({ status: 429, reason: 'wait-too-long' })
    expect(seen).toHaveLength(1)
  })

  it('answers 502 when the vendor cannot be reached and 504 when it is too slow', async () => {
    await start({}, { timeout: '300ms', retry: false })
    respond = () => {}
    const slow = await fetch(`${proxy.url}/x`)
    expect([slow.status, ((await slow.json()) as { reason: string }).reason]).toEqual([504, 'timeout'])
    vendor.closeAllConnections()
    vendor.close()
    await once(vendor, 'close').catch(() => {})
    const away = await fetch(`${proxy.url}/x`)
    expect(away.status).toBe(502)
    expect(JSON.stringify(await away.json())).not.toContain('127.0.0.1')
  })

  it('refuses a body that is too large, by its length and as it comes', async () => {
    await start({ maxBodyBytes: 10 })
    expect((await fetch(`${proxy.url}/x`, { method: 'POST', body: 'a'.repeat(11) })).status).toBe(413)
    await raw(`POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n${'a'.repeat(32)}\r\n0\r\n\r\n`)
    expect(seen).toEqual([])
  })

  it('cancels the booking of a client that disconnects while it waits', async () => {
    await start({}, { limits: { amount: 1, per: '2s' }, maxWait: '30s' })
    await fetch(`${proxy.url}/first`)
    const leaving = new AbortController()
    const left = fetch(`${proxy.url}/left`, { signal: leaving.signal }).catch(() => 'left')
    await expect.poll(() => egress.stats()[0]!.waiting).toBe(1)
    leaving.abort()
    expect(await left).toBe('left')
    await expect.poll(() => egress.stats()[0]!.waiting).toBe(0)
    expect(seen.map(({ url }) => url)).toEqual(['/base/first'])
  })

  it('answers what was accepted when it is closed, and refuses what comes after', async () => {
    await start()
    let finish: () => void = () => {}
    respond = (_, response) => {
      finish = () => response.end('late')
    }
    const accepted = fetch(`${proxy.url}/slow`)
    await expect.poll(() => seen.length).toBe(1)
    const closing = proxy.close()
    finish()
    expect(await (await accepted).text()).toBe('late')
    await closing
    await expect(fetch(`${proxy.url}/x`)).rejects.toThrow()
  })
})
