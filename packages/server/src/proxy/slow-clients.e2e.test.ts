import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { pino } from 'pino'
import { createEgress, type Egress } from 'sluice/egress'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ProxyConfig, type RunningProxy, startProxy } from './proxy.ts'

let vendor: Server
let seen: string[]
let respond: (request: IncomingMessage, response: ServerResponse) => void
let egress: Egress
let proxy: RunningProxy
const logs: Record<string, unknown>[] = []
const log = pino({}, { write: (line: string) => void logs.push(JSON.parse(line)) })
const clients: Socket[] = []

beforeEach(async () => {
  seen = []
  logs.length = 0
  respond = (request, response) => void request.resume().on('end', () => response.end('ok'))
  vendor = createServer((request, response) => {
    seen.push(request.url!)
    respond(request, response)
  }).listen(0, '127.0.0.1')
  await once(vendor, 'listening')
})
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy()
  await proxy.close()
  await egress.close({ within: 100 })
  vendor.close()
  vendor.closeAllConnections()
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
  proxy = await startProxy(egress, config, log)
}

function client(text: string): { readonly socket: Socket; answer(): string } {
  const socket = connect(proxy.port, '127.0.0.1')
  clients.push(socket)
  let answer = ''
  socket.on('error', () => {})
  socket.on('data', (piece) => (answer += piece.toString('latin1')))
  socket.write(text)
  return { socket, answer: () => answer }
}

const get = 'GET /x HTTP/1.1\r\nHost: a\r\n'
const post = 'POST /x HTTP/1.1\r\nHost: a\r\n'

/** Writes a piece repeatedly until the connection ends. */
function trickle(socket: Socket, piece: string, everyMs: number): void {
  const timer = setInterval(() => socket.write(piece), everyMs)
  socket.once('close', () => clearInterval(timer))
}

describe('a client that is slow on purpose', () => {
  it('has only so long for the head of its request, however steadily it arrives', async () => {
    await start({ headMs: 300 })
    const { socket, answer } = client(get)
    trickle(socket, 'X-A: b\r\n', 30)
    await expect.poll(() => socket.closed).toBe(true)
    expect(answer()).toMatch(/^HTTP\/1\.1 408/)
    expect(seen).toEqual([])
    expect(egress.stats()[0]!.granted).toBe(0)
  })

  it('holds nothing of the vendor while its body arrives', async () => {
    await start({ bodyIdleMs: 5000 }, { limits: { amount: 1, per: '1h' }, concurrency: 1 })
    const slow = Array.from({ length: 5 }, () => client(`${post}Content-Length: 100000\r\n\r\n`))
    for (const { socket } of slow) trickle(socket, 'x', 20)
    await expect.poll(() => proxy.open).toBe(5)
    expect((await fetch(`${proxy.url}/next`)).status).toBe(200)
    expect(seen).toEqual(['/next'])
  })

  it('is answered 400 when its body is shorter than it said', async () => {
    await start()
    const { socket, answer } = client(`${post}Content-Length: 10\r\n\r\nhello`)
    socket.end()
    await expect.poll(() => socket.closed).toBe(true)
    expect(answer()).toMatch(/^HTTP\/1\.1 400/)
    expect(seen).toEqual([])
    expect(egress.stats()[0]!.granted).toBe(0)
  })

  it('is cut off when it stops reading, and the vendor with it', async () => {
    await start({ readIdleMs: 300 }, { concurrency: 1 })
    let isCut = false
    respond = (_, response) => {
      response.once('close', () => {
        isCut = true
      })
      const pour = (): void => {
        while (response.write('x'.repeat(65_536))) {}
        response.once('drain', pour)
      }
      pour()
    }
    const { socket } = client(`${get}\r\n`)
    socket.pause()
    await expect.poll(() => isCut).toBe(true)
    await expect.poll(() => logs[0]).toMatchObject({ status: 200, reason: 'slow-reader' })
    await expect.poll(() => egress.stats()[0]!.inFlight).toBe(0)
    respond = (_, response) => void response.end('ok')
    expect((await fetch(`${proxy.url}/next`)).status).toBe(200)
  })

  it('may read slowly as long as it reads', async () => {
    await start({ readIdleMs: 2000 })
    const size = 8_000_000
    respond = (_, response) => void response.end(Buffer.alloc(size, 'x'))
    const { socket, answer } = client(`${get}Connection: close\r\n\r\n`)
    const turns = setInterval(() => (socket.isPaused() ? socket.resume() : socket.pause()), 20)
    await once(socket, 'close')
    clearInterval(turns)
    expect(answer().length).toBeGreaterThan(size)
  })
})

describe('a client that disconnects', () => {
  it('aborts requests that wait behind another one on its connection', async () => {
    await start({}, { limits: { amount: 1, per: '30s' }, maxQueue: 10, maxWait: '2m' })
    respond = () => {}
    const { socket } = client(`${get}\r\n${get}\r\n${get}\r\n`)
    await expect.poll(() => egress.stats()[0]!.waiting).toBe(2)
    socket.destroy()
    await expect.poll(() => egress.stats()[0]!.waiting).toBe(0)
    await expect.poll(() => proxy.open).toBe(0)
    await expect.poll(() => logs.length).toBe(3)
    expect(logs.map(({ reason }) => reason)).toEqual(['client-gone', 'client-gone', 'client-gone'])
  })

  it('leaves one line in the log when its body was still arriving as the proxy stopped', async () => {
    await start({ drainMs: 100 })
    const { socket, answer } = client(`${post}Content-Length: 100000\r\n\r\nhello`)
    await expect.poll(() => proxy.open).toBe(1)
    await proxy.close()
    await expect.poll(() => socket.closed).toBe(true)
    expect(answer()).toMatch(/^HTTP\/1\.1 503/)
    await expect.poll(() => logs.length).toBe(1)
    expect(logs[0]).toMatchObject({ msg: 'call', status: 503, reason: 'closed' })
  })
})

describe('a client that guesses tokens', () => {
  it('is refused each time, soon without a check and with one line in the log, and the right token always works', async () => {
    await start({ tokens: { current: [{ name: 'a', token: 'the-right-token' }] } })
    const guesses = ['', 'the-right-toke', 'the-right-token ', 'the-right-token, x', 'x'.repeat(10_000)]
    const many = [...guesses, ...Array.from({ length: 200 }, (_, at) => `guess-${at}`)]
    const statuses = await Promise.all(
      many.map(async (token) => {
        const { socket, answer } = client(`${get}X-Internal-Token: ${token}\r\nConnection: close\r\n\r\n`)
        await once(socket, 'close')
        return answer().slice(9, 12)
      }),
    )
    // Spaces around a value are not part of it (RFC 9110, 5.5), so the third is the token itself.
    expect(statuses.filter((status) => status === '200')).toEqual(['200'])
    expect(statuses.filter((status) => status === '401')).toHaveLength(10)
    expect(statuses.filter((status) => status === '429')).toHaveLength(many.length - 11)
    const twice = client(`${get}X-Internal-Token: the-right-token\r\nX-Internal-Token: x\r\nConnection: close\r\n\r\n`)
    await once(twice.socket, 'close')
    expect(twice.answer()).toMatch(/^HTTP\/1\.1 429.*\r\nretry-after: [1-9]/is)
    expect(seen).toHaveLength(1)
    expect(egress.stats()[0]!.granted).toBe(1)
    expect(JSON.stringify(logs)).not.toMatch(/guess-|the-right/)
    expect(logs.filter(({ msg }) => msg === 'many wrong tokens')).toHaveLength(1)
    expect(logs.length).toBeLessThan(20)
  })
})
