import { once } from 'node:events'
import { type AddressInfo, createConnection, createServer, type Server, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import type { UpstreamSpec } from '../../policy/document/upstream-spec.ts'
import type { PolicySource, SourceListener } from '../../policy/live/source.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import { createEgress } from '../create-egress.ts'
import type { Egress } from '../egress.ts'
import { Handshakes } from './arrival.ts'
import { Connections } from './connections.ts'
import { loadUndici } from './load-undici.ts'

const opened: { close(): unknown }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

interface RawVendor {
  readonly origin: string
  readonly server: Server
  readonly sockets: Set<Socket>
  connections: number
}

/** A vendor on plain sockets. */
async function vendorOf(speak: (socket: Socket) => void): Promise<RawVendor> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    vendor.connections += 1
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    speak(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const vendor = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    sockets,
    connections: 0,
  }
  opened.push({
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  })
  return vendor
}

async function egressTo({ origin }: RawVendor, spec: Partial<UpstreamSpec> = {}): Promise<Egress> {
  const upstream = { name: 'vendor', origin, limits: { rps: 1000 }, retry: false as const, ...spec }
  const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] } })
  opened.push({ close: () => egress.close({ within: 100 }) })
  return egress
}

describe('connections', () => {
  test('are used again, and as many are opened as calls can be granted at a time, not as many as wait', async () => {
    const vendor = await vendorOf((socket) => socket.on('data', () => socket.write(ok)))
    const egress = await egressTo(vendor, { limits: { amount: 5, per: '200ms' } })
    await Promise.all(Array.from({ length: 40 }, async () => (await egress.fetch(vendor.origin)).text()))
    expect(vendor.connections).toBeLessThan(20)
  })

  test('are given to the next call, one after the other', async () => {
    const vendor = await vendorOf((socket) => socket.on('data', () => socket.write(ok)))
    const egress = await egressTo(vendor)
    for (let i = 0; i < 20; i++) await (await egress.fetch(vendor.origin)).text()
    expect(vendor.connections).toBe(1)
  })

  test('that the vendor has closed are noticed before a POST is written to them', async () => {
    const bodies: string[] = []
    const vendor = await vendorOf((socket) => {
      socket.on('data', (chunk) => {
        bodies.push(String(chunk).split('\r\n\r\n')[1]!)
        socket.write(ok)
        setTimeout(() => socket.end(), 1)
      })
    })
    const egress = await egressTo(vendor)
    for (let i = 0; i < 30; i++) {
      const response = await egress.fetch(vendor.origin, { method: 'POST', body: `${i}` })
      expect(await response.text()).toBe('ok')
      await expect.poll(() => vendor.sockets.size, { interval: 1 }).toBe(0)
    }
    expect(bodies).toEqual(Array.from({ length: 30 }, (_, i) => `${i}`))
  })

  test('of a vendor that has ended one early, without announcing it, are not used again before that shows', async () => {
    const vendor = await vendorOf((socket) => socket.on('data', () => socket.end(ok)))
    const egress = await egressTo(vendor)
    const post = async (): Promise<string> => (await egress.fetch(vendor.origin, { method: 'POST', body: '{}' })).text()
    await post()
    await expect.poll(() => vendor.sockets.size).toBe(0)
    for (let round = 0; round < 10; round++)
      expect(await Promise.all(Array.from({ length: 40 }, post))).toEqual(Array(40).fill('ok'))
  })

  test('are not used any more a while before the vendor closed others that were idle', async () => {
    const times: number[] = []
    const vendor = await vendorOf((socket) =>
      socket.on('data', () => {
        if (times.push(vendor.connections) === 1) setTimeout(() => socket.end(), 700)
        socket.write(ok)
      }),
    )
    const egress = await egressTo(vendor)
    const call = async (): Promise<void> => void (await (await egress.fetch(vendor.origin)).text())
    await call()
    let idleMs = performance.now()
    await expect.poll(() => vendor.sockets.size).toBe(0)
    const closedMs = performance.now() - idleMs
    await call()
    expect(times).toEqual([1, 2])
    idleMs = performance.now()
    await expect.poll(() => performance.now() - idleMs, { timeout: closedMs + 5000 }).toBeGreaterThan(closedMs)
    // The connection is open, and others were closed after that time.
    await call()
    expect(times).toEqual([1, 2, 3])
  })

  test('are there before a grant is asked for, so that a vendor that accepts late costs none', async () => {
    const vendor = await vendorOf((socket) => socket.on('data', () => socket.write(ok)))
    const egress = await egressTo({ ...vendor, origin: vendor.origin })
    vendor.server.close()
    await once(vendor.server, 'close')
    await expect(egress.fetch(vendor.origin)).rejects.toMatchObject({ reason: 'unreachable', written: false })
    expect(egress.stats()[0]).toMatchObject({ granted: 0, failures: { unreachable: 1 } })
  })

  test('that cannot be opened fail all calls that wait for one, however many come at once', async () => {
    const vendor = await vendorOf(() => {})
    const egress = await egressTo(vendor, { limits: { rps: 5 } })
    vendor.server.close()
    await once(vendor.server, 'close')
    const calls = Array.from({ length: 60 }, () => egress.fetch(vendor.origin).catch((error) => error.reason))
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['unreachable']))
    const { depth, waiting, failures } = egress.stats()[0]!
    expect({ depth, waiting, failures }).toEqual({ depth: 0, waiting: 0, failures: { unreachable: 60 } })
  })

  test('that take long to fail fail calls also while new ones come, and each call waits for others to succeed', async () => {
    const handshakes: ((error: Error | null, socket: Socket | null) => void)[] = []
    const connect = (_: unknown, callback: (typeof handshakes)[number]) => {
      handshakes.push(callback)
      return new Socket()
    }
    const [undici, clock] = [await loadUndici(), systemClock()]
    const options = { undici, clock, origin: 'http://127.0.0.1:1', spare: () => 2, handshakes: new Handshakes() }
    const connections = new Connections({ ...options, connect: connect as never })
    const failed: number[] = []
    const ready: number[] = []
    const ask = (i: number) =>
      connections.whenReady({
        connectionReady: () => ready.push(i),
        connected: () => {},
        connectFailed: () => failed.push(i),
        connectionsClosed: () => {},
      })
    const fail = () => handshakes.shift()!(new Error('refused'), null)
    // One more call comes before each failure, so that some handshake is always under way.
    for (let i = 0; i < 20; i++) {
      ask(i)
      if (i > 0) fail()
    }
    expect(failed.length).toBeGreaterThan(12)
    expect(failed).toEqual([...failed].sort((a, b) => a - b))
    const left = 20 - failed.length
    const vendor = await vendorOf(() => {})
    const socket = createConnection((vendor.server.address() as AddressInfo).port, '127.0.0.1')
    await once(socket, 'connect')
    fail()
    handshakes.shift()!(null, socket)
    expect(ready.length).toBeGreaterThanOrEqual(left - 1)
    await connections.close(true)
  })

  test.each([
    ['refuses', (vendor: RawVendor) => vendor.server.close()],
    ['accepts and closes', (vendor: RawVendor) => vendor.server.on('connection', (socket) => socket.end())],
  ])(
    'are not opened again and again in advance to a vendor that %s, while calls wait for a grant',
    async (_, break_) => {
      const vendor = await vendorOf((socket) => socket.on('data', () => socket.write(ok)))
      let opened = 0
      const lookup = (_: string, __: object, callback: (error: null, found: object[]) => void): void => {
        opened += 1
        callback(null, [{ address: '127.0.0.1', family: 4 }])
      }
      const origin = vendor.origin.replace('127.0.0.1', 'localhost')
      const limits = { amount: 1, per: '1h' }
      const upstream = { name: 'vendor', origin, limits, maxQueue: 100, maxWait: '10h', retry: false as const }
      const egress = await createEgress({
        policy: { service: 's', upstreams: [upstream] },
        connect: { lookup: lookup as never },
      })
      const calls = Array.from({ length: 4 }, () => egress.fetch(origin).catch((error) => error))
      expect(await (await Promise.race(calls)).text()).toBe('ok')
      break_(vendor)
      for (const socket of vendor.sockets) socket.destroy()
      opened = 0
      const brokenMs = performance.now()
      await expect.poll(() => performance.now() - brokenMs, { timeout: 5000 }).toBeGreaterThan(2000)
      // Thousands without pauses between them.
      expect(opened).toBeLessThan(40)
      expect(opened).toBeGreaterThan(1)
      await egress.close({ within: 100 })
    },
  )

  test.each(['another address', 'no address, as it was removed', 'an egress that was closed'])(
    'that are being opened when the vendor has %s leave no call behind',
    async (change) => {
      const [former, vendor] = [
        await vendorOf(() => {}),
        await vendorOf((socket) => socket.on('data', () => socket.write(ok))),
      ]
      const held: (() => void)[] = []
      const lookup = (_: string, __: object, callback: (error: null, found: object[]) => void): void => {
        held.push(() => callback(null, [{ address: '127.0.0.1', family: 4 }]))
      }
      const documentOf = (name: string, origin: string) => ({
        service: 's',
        upstreams: [{ name, origin, limits: { rps: 100 }, retry: false as const }],
      })
      let listener: SourceListener | undefined
      const policy: PolicySource = {
        description: 'test',
        async start(given) {
          listener = given
          return { document: documentOf('vendor', former.origin.replace('127.0.0.1', 'localhost')), revision: 1 }
        },
        close: async () => {},
      }
      const egress = await createEgress({ policy, connect: { lookup: lookup as never } })
      opened.push({ close: () => egress.close({ within: 100 }) })
      const call = () =>
        egress.request({ upstream: 'vendor', path: '/', method: 'GET' }).then(
          ({ status }) => status,
          (error) => error.code,
        )
      const calls = Array.from({ length: 10 }, call)
      await expect.poll(() => held.length).toBeGreaterThan(0)
      const { version } = egress.policy
      if (change === 'an egress that was closed') await egress.close({ within: 10 })
      else {
        const name = change === 'another address' ? 'vendor' : 'other'
        listener!.changed({ document: documentOf(name, vendor.origin), revision: 2 })
        await expect.poll(() => egress.policy.version).not.toBe(version)
      }
      for (const open of held) open()
      const expected = change === 'another address' ? 200 : 'SLUICE_CLOSED'
      expect(await Promise.all(calls)).toEqual(Array(10).fill(expected))
      if (change === 'another address')
        expect(await Promise.all(Array.from({ length: 10 }, call))).toEqual(Array(10).fill(200))
    },
  )

  test('that are ready do not keep a process alive', async () => {
    // By their port: other tests of this process have sockets too.
    const active = () => {
      const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles(): unknown[] }
      const sockets = handles.call(process).filter((each) => each instanceof Socket)
      return sockets.filter(({ remotePort }) => vendor.origin.endsWith(`:${remotePort}`)).length
    }
    let inUse = 0
    const vendor = await vendorOf((socket) =>
      socket.on('data', () => {
        inUse = active()
        socket.write(ok)
      }),
    )
    const egress = await egressTo(vendor)
    await (await egress.fetch(vendor.origin)).text()
    expect(inUse).toBe(1)
    await expect.poll(active).toBe(0)
    expect(vendor.sockets.size).toBe(1)
  })
})

describe('an interim response that nobody asked for', () => {
  test.each([
    ['in one piece', [`HTTP/1.1 100 Continue\r\n\r\n${ok}`]],
    ['twice, with headers', [`HTTP/1.1 100 Continue\r\nx: y\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${ok}`]],
    ['byte by byte', [...`HTTP/1.1 100 Continue\r\n\r\n${ok}`]],
    ['before another interim response', [`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n${ok}`]],
  ])('is accepted: 100 Continue %s', async (_, pieces) => {
    const vendor = await vendorOf((socket) => {
      socket.setNoDelay(true)
      socket.on('data', async () => {
        for (const piece of pieces) {
          socket.write(piece)
          if (pieces.length > 1) await sleep(1)
        }
      })
    })
    const egress = await egressTo(vendor)
    for (let i = 0; i < 2; i++) {
      const response = await egress.fetch(vendor.origin, { method: 'POST', body: 'x' })
      expect([response.status, await response.text()]).toEqual([200, 'ok'])
    }
  })
})

describe('a written request', () => {
  test('counts from when the kernel has its last byte: a vendor that does not read delays that', async () => {
    let reader: Socket | undefined
    const vendor = await vendorOf((socket) => {
      socket.pause()
      reader = socket
    })
    const egress = await egressTo(vendor, { limits: { amount: 1, per: '300ms' }, arrival: '1ms' })
    const body = Buffer.alloc(16 * 1024 * 1024)
    const first = egress.fetch(vendor.origin, { method: 'POST', body })
    first.catch(() => {})
    // A grant that a busy process cannot use in time is returned, and the next call may come first then.
    await expect.poll(() => reader?.bytesRead).toBeGreaterThan(0)
    const { granted } = egress.stats()[0]!
    egress.fetch(vendor.origin, { method: 'POST', body: 'next' }).catch(() => {})
    const readyMs = performance.now()
    await expect.poll(() => performance.now() - readyMs).toBeGreaterThan(700)
    // More than two periods have passed, and the request is not with the kernel, so its place is not free.
    expect(egress.stats()[0]).toMatchObject({ granted, waiting: 1 })
    reader!.resume()
    await expect.poll(() => egress.stats()[0]!.granted).toBeGreaterThan(granted)
  })

  test('of a steady upload may take longer than the timeout, and one without a byte may not', async () => {
    const vendor = await vendorOf((socket) => {
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1')
        if (text.endsWith('0\r\n\r\n')) socket.write(ok)
      })
    })
    const egress = await egressTo(vendor, { timeout: '400ms' })
    async function* upload(pauses: readonly number[]) {
      yield Buffer.alloc(1_100_000)
      for (const ms of pauses) {
        await sleep(ms)
        yield Buffer.from('x')
      }
    }
    const post = (pauses: readonly number[]) =>
      egress.fetch(vendor.origin, { method: 'POST', body: upload(pauses), duplex: 'half' })
    expect((await post(Array.from({ length: 10 }, () => 80))).status).toBe(200)
    await expect(post([2000])).rejects.toMatchObject({ reason: 'timeout' })
  })

  test('with a length that is not its own is refused, and the place returned', async () => {
    const vendor = await vendorOf((socket) => socket.on('data', () => socket.write(ok)))
    const egress = await egressTo(vendor, { limits: { amount: 1, per: '10s' } })
    for (const length of ['3', '9']) {
      const call = { upstream: 'vendor', path: '/', method: 'POST', headers: { 'content-length': length } }
      await expect(egress.request({ ...call, body: 'hello' })).rejects.toMatchObject({ code: 'SLUICE_WRONG_USE' })
    }
    expect((await egress.fetch(vendor.origin)).status).toBe(200)
  })
})

test('a caller that stalls in its body holds nothing', async () => {
  const vendor = await vendorOf((socket) => socket.on('data', () => socket.write(ok)))
  const egress = await egressTo(vendor, { limits: { amount: 1, per: '10s' }, concurrency: 1 })
  async function* stalled() {
    yield Buffer.from('abc')
    await new Promise(() => {})
  }
  const leaving = new AbortController()
  const calls = Array.from({ length: 3 }, () =>
    egress.fetch(vendor.origin, { method: 'POST', body: stalled(), duplex: 'half', signal: leaving.signal }),
  )
  for (const call of calls) call.catch(() => {})
  expect((await egress.fetch(vendor.origin)).status).toBe(200)
  expect(egress.stats()[0]).toMatchObject({ granted: 1, waiting: 0 })
})
