import { getEventListeners, once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Agent, interceptors, request } from 'undici'
import { afterEach, describe, expect, test } from 'vitest'
import type { UpstreamSpec } from '../policy/document/upstream-spec.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createEgress } from './create-egress.ts'
import type { Egress, ResponseReceiver, UpstreamHead } from './egress.ts'
import type { EgressOptions } from './options.ts'
import { startVendor, type Vendor } from './testing/vendor.ts'

const opened: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
})

async function egressTo(
  origin: string,
  spec: Partial<UpstreamSpec> = {},
  options: Partial<EgressOptions> = {},
): Promise<Egress> {
  const upstream = { name: 'vendor', origin, limits: { rps: 1000 }, ...spec }
  const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] }, ...options })
  opened.push(egress)
  return egress
}

async function vendorOf(answer: Parameters<typeof startVendor>[0]): Promise<Vendor> {
  const vendor = await startVendor(answer)
  opened.push(vendor)
  return vendor
}

const granted = (egress: Egress): number => egress.stats()[0]!.granted

describe('every dispatch needs a grant', () => {
  test('through an interceptor on an agent of the application, each redirect needs a grant of its own', async () => {
    const vendor = await vendorOf((asked, response) => {
      if (asked.url === '/end') response.end('there')
      else response.writeHead(302, { location: '/end' }).end()
    })
    const egress = await egressTo(vendor.origin)
    const agent = new Agent().compose(egress.interceptor(), interceptors.redirect({ maxRedirections: 3 }))
    opened.push(agent)
    const { body } = await request(`${vendor.origin}/start`, { dispatcher: agent })
    expect(await body.text()).toBe('there')
    expect(granted(egress)).toBe(2)
  })

  test('fetch leaves redirects to its caller, and one to an unknown origin is never followed', async () => {
    const vendor = await vendorOf((_, response) => response.writeHead(302, { location: 'http://127.0.0.1:9/x' }).end())
    const egress = await egressTo(vendor.origin)
    expect((await egress.fetch(vendor.origin)).status).toBe(302)
    await expect(egress.fetch(vendor.origin, { redirect: 'follow' })).rejects.toThrow()
    expect(vendor.arrivals).toHaveLength(2)
  })
})

describe('dispatchers of the application', () => {
  test('that send several requests at once on a connection are refused', async () => {
    const policy = { service: 's', upstreams: [{ name: 'v', origin: 'http://v.example', limits: { rps: 1 } }] }
    for (const options of [{ pipelining: 4 }, { allowH2: true }]) {
      const dispatcher = new Agent(options)
      await expect(createEgress({ policy, dispatcher })).rejects.toMatchObject({ code: 'SLUICE_INVALID_OPTION' })
      await dispatcher.close()
    }
  })

  test('are left open when egress is closed', async () => {
    const vendor = await vendorOf((_, response) => response.end('ok'))
    const dispatcher = new Agent()
    opened.push(dispatcher)
    const upstream = { name: 'vendor', origin: vendor.origin, limits: { rps: 5 } }
    const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] }, dispatcher })
    expect((await egress.fetch(vendor.origin)).status).toBe(200)
    await egress.close()
    expect((await request(vendor.origin, { dispatcher })).statusCode).toBe(200)
  })
})

test('1,500 calls that abort at once all settle, leave no listener, and cost nothing', async () => {
  const vendor = await vendorOf((_, response) => response.end('ok'))
  // However long it takes to make the calls, none of them is granted meanwhile.
  const clock = virtualClock()
  const limits = { amount: 1, per: '2s' } as const
  const egress = await egressTo(vendor.origin, { limits, maxWait: '2h', maxQueue: 2000 }, { clock })
  await (await egress.fetch(vendor.origin)).text()
  const controller = new AbortController()
  const calls = Array.from({ length: 1500 }, () =>
    egress
      .request({ upstream: 'vendor', path: '/', method: 'GET', signal: controller.signal })
      .catch((error: Error) => error.name),
  )
  await new Promise((resolve) => setImmediate(resolve))
  expect(egress.stats()[0]).toMatchObject({ waiting: 1500, depth: 1500 })
  controller.abort()
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['AbortError']))
  await new Promise((resolve) => setImmediate(resolve))
  expect(egress.stats()[0]).toMatchObject({ waiting: 0 })
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  await clock.advance('10s')
  expect((await egress.fetch(vendor.origin)).status).toBe(200)
  expect(vendor.arrivals).toHaveLength(2)
})

test('a call whose signal is aborted already is never booked', async () => {
  const vendor = await vendorOf((_, response) => response.end('ok'))
  const egress = await egressTo(vendor.origin)
  await expect(egress.fetch(vendor.origin, { signal: AbortSignal.abort() })).rejects.toMatchObject({
    name: 'AbortError',
  })
  expect(granted(egress)).toBe(0)
})

/** A vendor that writes its HTTP responses byte by byte. */
async function rawVendor(speak: (socket: import('node:net').Socket) => void): Promise<string> {
  const server: Server = createServer(speak)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.push({ close: async () => server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('an interim response does not free a place', async () => {
  const heads: number[] = []
  const origin = await rawVendor((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => {
      heads.push(performance.now())
      socket.write('HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n')
      setTimeout(() => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'), 400)
    })
  })
  const egress = await egressTo(origin, { limits: { amount: 1, per: '200ms' }, arrival: 'response' })
  const calls = [egress.fetch(origin), egress.fetch(origin)]
  for (const call of calls) expect(await (await call).text()).toBe('ok')
  expect(heads[1]! - heads[0]!).toBeGreaterThanOrEqual(600)
})

test('a vendor that takes too long ends with a timeout, and its place is free a period after that', async () => {
  const heads: number[] = []
  const origin = await rawVendor((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => heads.push(performance.now()))
  })
  const spec = {
    limits: { amount: 1, per: '200ms' },
    timeout: '300ms',
    retry: false as const,
    arrival: 'response' as const,
  }
  const egress = await egressTo(origin, spec)
  const calls = [egress.fetch(origin), egress.fetch(origin)]
  for (const call of calls) await expect(call).rejects.toMatchObject({ reason: 'timeout', written: true })
  expect(heads[1]! - heads[0]!).toBeGreaterThanOrEqual(500)
})

test('trailers and compressed bodies pass as they are', async () => {
  const vendor = await vendorOf((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip', trailer: 'x-sum' })
    response.write(Buffer.from([1, 2, 3]))
    response.addTrailers({ 'x-sum': '6' })
    response.end()
  })
  const egress = await egressTo(vendor.origin)
  const response = await egress.request({ upstream: 'vendor', path: '/', method: 'GET' })
  const chunks: Buffer[] = []
  for await (const chunk of response.body) chunks.push(chunk as Buffer)
  expect(Buffer.concat(chunks)).toEqual(Buffer.from([1, 2, 3]))
  expect(response.trailers).toEqual({ 'x-sum': '6' })
})

test('a grant that is too old when the connection is there is returned, and the call books again with its body whole', async () => {
  const vendor = await vendorOf((asked, response) => asked.pipe(response))
  const agent = new Agent()
  opened.push(agent)
  let isFirst = true
  const slow = {
    dispatch(...args: Parameters<Agent['dispatch']>): boolean {
      if (!isFirst) return agent.dispatch(...args)
      isFirst = false
      setTimeout(() => agent.dispatch(...args), 1200)
      return true
    },
  } as unknown as Agent
  const upstream = { name: 'vendor', origin: vendor.origin, limits: { rps: 5 } }
  const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] }, dispatcher: slow })
  opened.push(egress)
  const body = Readable.from(['first, ', 'second'])
  const response = await egress.request({ upstream: 'vendor', path: '/', method: 'POST', body })
  expect(await text(response.body)).toBe('first, second')
  expect(response.attempts).toBe(1)
  expect(egress.stats()[0]).toMatchObject({ granted: 2 })
  expect(vendor.arrivals).toHaveLength(1)
})

describe('send', () => {
  /** Collects the calls to a receiver; `isPausing` stops after each piece. */
  function received(isPausing = false) {
    const seen: string[] = []
    let head: UpstreamHead | undefined
    let settle = (): void => {}
    const over = new Promise<void>((resolve) => {
      settle = resolve
    })
    const receiver: ResponseReceiver = {
      responded(given) {
        head = given
        seen.push(`head ${given.status}`)
        return true
      },
      data(chunk) {
        seen.push(`data ${chunk}`)
        if (isPausing) setTimeout(() => head!.resume(), 5)
        return !isPausing
      },
      ended(trailers) {
        seen.push(`ended ${JSON.stringify(trailers)}`)
        settle()
      },
      failed(error) {
        seen.push(`failed ${error.message}`)
        settle()
      },
    }
    return { seen, receiver, over, head: () => head! }
  }

  test('passes a response on as it comes, at the pace of its receiver', async () => {
    const vendor = await vendorOf(async (_, response) => {
      response.writeHead(201, { 'X-Vendor': 'yes', trailer: 'x-sum' })
      for (const piece of ['a', 'b']) {
        response.write(piece)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      response.addTrailers({ 'x-sum': '2' })
      response.end()
    })
    const egress = await egressTo(vendor.origin)
    const { seen, receiver, over, head } = received(true)
    egress.send({ upstream: 'vendor', path: '/', method: 'POST', body: 'hello' }, receiver)
    await over
    expect(seen).toEqual(['head 201', 'data a', 'data b', 'ended {"x-sum":"2"}'])
    const { headers, attempts } = head()
    expect(headers[headers.indexOf('x-vendor') + 1]).toBe('yes')
    expect(attempts).toBe(1)
  })

  test('can be aborted at any time, and reports it once', async () => {
    const vendor = await vendorOf((_, response) => void response.write('begun'))
    const egress = await egressTo(vendor.origin, { limits: { amount: 1, per: '200ms' } })
    const asked = { upstream: 'vendor', path: '/', method: 'GET' }
    const begun = received()
    const giveUp = egress.send(asked, begun.receiver)
    const waiting = received()
    const leave = egress.send(asked, waiting.receiver)
    await expect.poll(() => begun.seen).toEqual(['head 200', 'data begun'])
    for (const each of [leave, giveUp]) {
      each(new Error('enough'))
      each(new Error('again'))
    }
    expect(waiting.seen).toEqual(['failed enough'])
    expect(begun.seen.slice(2)).toEqual(['failed enough'])
    await expect.poll(() => egress.stats()[0]).toMatchObject({ waiting: 0, inFlight: 0 })
    expect(vendor.arrivals).toHaveLength(1)
    expect(() => egress.send({ ...asked, upstream: 'other' }, begun.receiver)).toThrow(/no upstream "other"/)
  })
})
