import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import { createEgress, type Egress } from 'sluice/egress'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ProxyConfig, type RunningProxy, startProxy } from './proxy.ts'

// Both sides are raw sockets here, so that only the proxy decides what passes.
let vendor: Server
let received: string
let onRequest: (socket: Socket, text: string) => void
let egress: Egress
let proxy: RunningProxy
const sockets = new Set<Socket>()
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

beforeEach(async () => {
  received = ''
  onRequest = (socket) => socket.write(ok)
  vendor = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (piece) => {
      const text = piece.toString('latin1')
      received += text
      onRequest(socket, text)
    })
  }).listen(0, '127.0.0.1')
  await once(vendor, 'listening')
})
afterEach(async () => {
  await proxy.close()
  for (const socket of sockets) socket.destroy()
  sockets.clear()
  await egress.close({ within: 100 })
  vendor.close()
})

async function start(changes: Partial<ProxyConfig> = {}, upstream: object = {}): Promise<void> {
  const origin = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`
  const settings = { name: 'vendor', origin, limits: { amount: 1000, per: '1s' }, retry: false, ...upstream }
  egress = await createEgress({ policy: { service: 's', upstreams: [settings] } as never })
  const bounds = { maxBodyBytes: 1e6, drainMs: 200 }
  const config = {
    host: '127.0.0.1',
    port: 0,
    tokens: { current: [] },
    credentials: { current: {} },
    ...bounds,
    ...changes,
  }
  proxy = await startProxy(egress, config, pino({ level: 'silent' }))
}

/** Sends bytes unchanged, and returns all that comes back until the connection ends or is quiet. */
async function raw(text: string, quietMs = 1500): Promise<string> {
  const socket = connect(proxy.port, '127.0.0.1')
  socket.write(text, 'latin1')
  let answer = ''
  socket.setTimeout(quietMs, () => socket.destroy())
  socket.on('error', () => {})
  socket.on('data', (piece) => (answer += piece.toString('latin1')))
  await once(socket, 'close')
  return answer
}

const heads = (text: string): readonly string[] => text.match(/^[A-Z]+ \/\S* HTTP\/1\.1/gm) ?? []
const get = 'GET /x HTTP/1.1\r\nHost: a\r\n'
const post = 'POST /x HTTP/1.1\r\nHost: a\r\n'

describe('a request that two parsers may read differently', () => {
  it.each([
    ['a transfer coding that is nearly chunked', `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['chunked with a vertical tab', `${post}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`],
    ['chunked and something after it', `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['two transfer codings in two lines', `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n`],
    ['a chunk size with a sign', `${post}Transfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n`],
    ['a chunk size with 0x', `${post}Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n`],
    ['a chunk that ends in a bare line feed', `${post}Transfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n`],
    ['a length with a sign', `${post}Content-Length: +5\r\n\r\nhello`],
    ['a negative length', `${post}Content-Length: -1\r\n\r\nhello`],
    ['a length that is no number', `${post}Content-Length: 5x\r\n\r\nhello`],
    ['no host', 'GET /x HTTP/1.1\r\n\r\n'],
    ['a NUL in a value', `${get}X-A: a\x00b\r\n\r\n`],
    ['a carriage return in a value', `${get}X-A: a\rX-B: b\r\n\r\n`],
    ['a name with a space', `${get}X A: b\r\n\r\n`],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/0.9', 'GET /x\r\n\r\n'],
    ['a version that is not there', 'GET /x HTTP/3.7\r\nHost: a\r\n\r\n'],
  ])('is refused, and no whole request reaches the vendor: %s', async (_, text) => {
    await start()
    const answer = await raw(text)
    expect(answer === '' || /^HTTP\/1\.1 (4\d\d|501|505)/.test(answer), answer).toBe(true)
    // A chunked body may turn out to be broken only after its head was sent on; it must never look complete.
    expect(received).not.toMatch(/\r\n0\r\n\r\n$/)
    if (!/chunk/i.test(text)) expect(received).toBe('')
  })

  it('refuses two Host headers', async () => {
    await start()
    const answer = await raw('GET /vendor/a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 200)
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(received).toBe('')
  })

  it('refuses chunks in HTTP/1.0, which does not know them', async () => {
    await start()
    const text = 'POST /x HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n'
    expect(await raw(text, 200)).toMatch(/^HTTP\/1.1 400 /)
    expect(received).toBe('')
  })

  it('is refused with a body in a coding that the vendor would not be told of', async () => {
    await start()
    const post = (coding: string) =>
      raw(`POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ${coding}\r\nConnection: close\r\n\r\n1\r\na\r\n0\r\n\r\n`)
    expect(await post('gzip, chunked')).toMatch(/^HTTP\/1\.1 501 /)
    expect(received).toBe('')
    expect(await post('Chunked')).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('stays one request: its body is never read as another request', async () => {
    await start()
    const inner = 'GET /admin HTTP/1.1\r\nHost: b\r\n\r\n'
    const bodies = [
      `GET /one HTTP/1.1\r\nHost: a\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
      `OPTIONS /two HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${inner.length.toString(16)};a="b"\r\n${inner}\r\n0\r\n\r\n`,
    ]
    for (const text of bodies) {
      received = ''
      await raw(text)
      expect(received).toContain(inner)
      const [head = '', body = ''] = received.split(/\r\n\r\n(.*)/s)
      // The vendor receives the length of the body once, in one form.
      const framing = head.match(/^(content-length|transfer-encoding):.*/gim) ?? []
      expect(framing).toHaveLength(1)
      if (/^content-length/i.test(framing[0]!)) expect(body).toBe(inner)
      else expect(body).toBe(`${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`)
    }
  })

  it('is answered in order when it is pipelined', async () => {
    await start()
    onRequest = (socket, text) => {
      const [, path = ''] = /^GET (\S+)/.exec(text) ?? []
      setTimeout(
        () => socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}`),
        path === '/1' ? 100 : 1,
      )
    }
    const answer = await raw(
      `GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    )
    expect(answer.indexOf('/1')).toBeGreaterThan(0)
    expect(answer.indexOf('/2')).toBeGreaterThan(answer.indexOf('/1'))
  })
})

describe('headers of a caller', () => {
  it('cannot add lines, ids or credentials', async () => {
    await start({ credentials: { current: { vendor: { 'x-vendor-key': 'ours' } } } })
    await raw(
      `${get}X-Request-Id: a b<script>\r\nTraceparent: 00-zz\r\nX-Vendor-Key: theirs\r\nX_Vendor_Key: theirs\r\n` +
        'Cookie: theirs\r\nX_Internal_Token: theirs\r\nX_Forwarded_For: 6.6.6.6\r\nConnection: close\r\n\r\n',
    )
    expect(received).not.toMatch(/theirs|script|zz|6\.6\.6\.6/)
    expect(received.match(/^x-vendor-key: ours\r$/gm)).toHaveLength(1)
    expect(received).toMatch(/^traceparent: 00-[0-9a-f]{32}-[0-9a-f]{16}-01\r$/m)
  })

  it.each(['websocket', 'h2c', 'TLS/1.0'])('cannot turn the connection into another protocol: %s', async (protocol) => {
    await start()
    const answer = await raw(
      `${get}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABk\r\n\r\n\x81\x05hello`,
      500,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 (200|4\d\d)/)
    expect(received).not.toMatch(/^(upgrade|http2-settings):/im)
    expect(received).not.toContain('hello')
  })

  it('are refused when there are too many bytes of them, before a grant is spent', async () => {
    await start()
    const many = Array.from({ length: 3000 }, (_, i) => `X-${i}: ${'v'.repeat(30)}\r\n`).join('')
    expect(await raw(`${get}${many}\r\n`)).toMatch(/^HTTP\/1\.1 431/)
    expect(egress.stats()[0]!.granted).toBe(0)
    expect(received).toBe('')
  })
})

describe('bodies of a caller', () => {
  it.each(['Content-Length: 1000', 'Transfer-Encoding: chunked'])(
    'that stop coming are given up: %s',
    async (framing) => {
      await start({ bodyIdleMs: 200 })
      onRequest = () => {}
      onRequest = () => {}
      const answer = await raw(`${post}${framing}\r\n\r\n5\r\nhello`, 3000)
      expect(answer).toMatch(/^HTTP\/1\.1 408/)
      expect(answer).toMatch(/^connection: close\r$/im)
      await expect.poll(() => sockets.size === 0 || [...sockets].every(({ closed }) => closed)).toBe(true)
    },
  )

  it('that continue after an early answer are cut off', async () => {
    await start({ maxBodyBytes: 1e7 })
    onRequest = (socket, text) => void (text.startsWith('POST') && socket.write(ok))
    const socket = connect(proxy.port, '127.0.0.1')
    socket.on('error', () => {})
    // More than the proxy reads before it asks for a grant.
    socket.write(`${post}Content-Length: 9000000\r\n\r\n${'x'.repeat(1_200_000)}`)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200.*^connection: close\r$/ims)
    const more = setInterval(() => socket.write('x'), 50)
    // It is reset, not closed normally: the data in transit was not read.
    await expect.poll(() => socket.closed).toBe(true)
    clearInterval(more)
  })

  it('that come slowly but steadily are waited for', async () => {
    await start({ bodyIdleMs: 300 })
    onRequest = (socket, text) => {
      if (text.includes('!')) socket.write(ok)
    }
    const socket = connect(proxy.port, '127.0.0.1')
    socket.write(`${post}Content-Length: 10\r\nConnection: close\r\n\r\n`)
    for (const letter of 'slow body!') {
      await new Promise((resolve) => setTimeout(resolve, 80))
      socket.write(letter)
    }
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200/)
    socket.destroy()
  })

  it('do not prevent an answer when the vendor fails', async () => {
    await start({ maxBodyBytes: 1e7 }, { timeout: '300ms' })
    onRequest = () => {}
    expect(await raw(`${post}Content-Length: 5\r\nConnection: close\r\n\r\nhello`)).toMatch(/^HTTP\/1\.1 504/)
    onRequest = (socket) => socket.destroy()
    expect(await raw(`${post}Content-Length: 5\r\nConnection: close\r\n\r\nhello`)).toMatch(/^HTTP\/1\.1 502/)
    const half = `${post}Content-Length: 5000000\r\nConnection: close\r\n\r\n${'x'.repeat(1_200_000)}`
    expect(await raw(half)).toMatch(/^HTTP\/1\.1 502/)
  })
})

describe('a vendor that misbehaves', () => {
  it.each([
    ['both framings', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!'],
    ['a header with a NUL', 'HTTP/1.1 200 OK\r\nX-A: a\x00b\r\nContent-Length: 2\r\n\r\nok'],
    [
      'a protocol that nobody asked for',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
    ],
    ['200 kB of headers', `HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(200_000)}\r\nContent-Length: 2\r\n\r\nok`],
    ['no HTTP at all', 'SSH-2.0-OpenSSH\r\n'],
  ])('is a bad gateway: %s', async (_, text) => {
    await start({}, { timeout: '1s' })
    onRequest = (socket) => socket.write(text, 'latin1')
    expect(await raw(`${get}Connection: close\r\n\r\n`, 3000)).toMatch(/^HTTP\/1\.1 50[24]/)
  })

  it('cannot answer the next caller with surplus bytes', async () => {
    await start()
    const poison = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison'
    let answers = 0
    onRequest = (socket) => socket.write(++answers === 1 ? ok + poison : ok)
    const all = [1, 2, 3].map(() => '')
    for (const at of all.keys()) all[at] = await raw(`${get}Connection: close\r\n\r\n`)
    expect(all.join('')).not.toContain('poison')
    // The connection may be broken, so a request on it may fail; it is never answered with other data.
    expect(all[2]).toMatch(/^HTTP\/1\.1 200/)
  })

  it('cannot make a cut response look complete', async () => {
    await start()
    onRequest = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
      setTimeout(() => socket.destroy(), 50)
    }
    const answer = await raw(`${get}\r\n`)
    expect(answer).toContain('hello')
    expect(answer).not.toMatch(/\r\n0\r\n\r\n$/)
  })

  it('cannot add hop-by-hop headers or make the proxy follow a redirect', async () => {
    await start()
    onRequest = (socket) =>
      socket.write(
        'HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest\r\nConnection: x-a\r\nX-A: 1\r\nProxy-Authenticate: Basic\r\n' +
          'Keep-Alive: timeout=99\r\nUpgrade: h2c\r\nTrailer: x\r\nContent-Length: 0\r\n\r\n',
      )
    const answer = await raw(`${get}Connection: close\r\n\r\n`)
    expect(answer).toMatch(/^location: http:\/\/169\.254\.169\.254\/latest\r$/m)
    expect(answer).not.toMatch(/^(x-a|proxy-authenticate|upgrade|trailer|keep-alive: timeout=99)/im)
    expect(heads(received)).toHaveLength(1)
  })

  it('cannot make the proxy unpack anything: a compression bomb passes unchanged', async () => {
    await start()
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    onRequest = (socket) => {
      socket.write(
        `HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\nContent-Length: ${bomb.length}\r\n\r\n`,
      )
      socket.write(bomb)
    }
    const before = process.memoryUsage().rss
    const answer = await raw(`${get}Connection: close\r\n\r\n`)
    expect(answer.endsWith(bomb.subarray(-100).toString('latin1'))).toBe(true)
    expect(process.memoryUsage().rss - before).toBeLessThan(40_000_000)
  })
})
