import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import type { UpstreamSpec } from '../policy/document/upstream-spec.ts'
import { createEgress } from './create-egress.ts'
import type { Egress } from './egress.ts'
import type { EgressEvents } from './events.ts'
import type { UpstreamHooks } from './options.ts'
import { startVendor, type Vendor } from './testing/vendor.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
})

type Answer = (request: IncomingMessage, response: ServerResponse, count: number) => void

async function start(
  spec: Partial<UpstreamSpec>,
  answer: Answer,
  hooks: UpstreamHooks = {},
): Promise<{ vendor: Vendor; egress: Egress; events: string[] }> {
  let count = 0
  const vendor = await startVendor((request, response) => {
    request.resume()
    answer(request, response, ++count)
  })
  const upstream = { name: 'vendor', origin: vendor.origin, limits: { rps: 1000 }, ...spec }
  const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] }, hooks: { vendor: hooks } })
  const events: string[] = []
  for (const name of ['paused', 'retried', 'refused', 'failed'] as (keyof EgressEvents)[])
    egress.on(name, () => events.push(name))
  opened.push(egress, vendor)
  return { vendor, egress, events }
}

const refuse = (response: ServerResponse, headers: Record<string, string>, status = 429): void => {
  response.writeHead(status, headers)
  response.end('no')
}

describe('a vendor that refuses', () => {
  test('pauses all replicas for the time that it states, and the call is made again after that', async () => {
    const { vendor, egress, events } = await start({}, (_, response, count) =>
      count === 1 ? refuse(response, { 'retry-after': '0.4' }) : response.end('ok'),
    )
    const first = egress.fetch(vendor.origin, { method: 'POST', body: 'once' })
    await expect.poll(() => events).toContain('paused')
    const second = egress.fetch(vendor.origin)
    expect(await (await first).text()).toBe('ok')
    expect((await second).status).toBe(200)
    expect(vendor.arrivals[1]! - vendor.arrivals[0]!).toBeGreaterThanOrEqual(399)
    expect(events).toEqual(['paused', 'retried'])
  })

  test('is not called again with a body that cannot be sent twice, nor past the maximum wait', async () => {
    const { vendor, egress } = await start({ maxWait: '1s' }, (_, response) => refuse(response, { 'retry-after': '5' }))
    const stream = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('x'))
        controller.close()
      },
    })
    const response = await egress.fetch(vendor.origin, { method: 'POST', body: stream, duplex: 'half' })
    expect(response.status).toBe(429)
    expect(await response.text()).toBe('no')
    await expect(egress.fetch(vendor.origin)).rejects.toMatchObject({ reason: 'wait-too-long' })
    expect(vendor.arrivals).toHaveLength(1)
  })

  test('gets at most one more call for ten, and the floor', async () => {
    const retry = { attempts: 5, base: '1ms', max: '2ms', floorPerSecond: 0 }
    const { vendor, egress } = await start({ retry }, (_, response) => refuse(response, {}, 502))
    for (let i = 0; i < 100; i++) await (await egress.fetch(vendor.origin)).text()
    expect(vendor.arrivals).toHaveLength(110)
  })

  test('is not sent a POST twice that it may have served', async () => {
    const { vendor, egress } = await start({ retry: { floorPerSecond: 100 } }, (request) => request.socket.destroy())
    await expect(egress.fetch(vendor.origin, { method: 'POST', body: 'pay' })).rejects.toMatchObject({
      reason: 'reset',
    })
    expect(vendor.arrivals).toHaveLength(1)
    const headers = { 'idempotency-key': 'k1' }
    await new Promise((resolve) => setTimeout(resolve, 50))
    await expect(egress.fetch(vendor.origin, { method: 'POST', body: 'pay', headers })).rejects.toMatchObject({
      written: true,
    })
    expect(vendor.arrivals.length).toBeGreaterThan(2)
  })

  test('can report a limit inside a 200', async () => {
    const limited = JSON.stringify({ errors: [{ extensions: { code: 'THROTTLED' } }] })
    const { vendor, egress, events } = await start(
      {},
      (_, response, count) => {
        response.setHeader('content-type', 'application/json')
        response.end(count === 1 ? limited : '{"data":1}')
      },
      { classify: ({ body }) => (body?.includes('THROTTLED') ? { limited: true, retryAfterMs: 50 } : undefined) },
    )
    expect(await (await egress.fetch(vendor.origin)).json()).toEqual({ data: 1 })
    expect(events).toEqual(['paused', 'retried'])
  })

  test('pauses only the route that exceeded a limit, where routes have separate limits', async () => {
    const { vendor, egress } = await start(
      { maxWait: '2s', retry: false },
      (request, response) => (request.url === '/a' ? refuse(response, { 'retry-after': '60' }) : response.end('ok')),
      { scope: ({ path }) => path },
    )
    expect((await egress.fetch(`${vendor.origin}/a`)).status).toBe(429)
    await expect(egress.fetch(`${vendor.origin}/a`)).rejects.toMatchObject({ reason: 'wait-too-long' })
    expect((await egress.fetch(`${vendor.origin}/b`)).status).toBe(200)
  })
})

describe('cost that is known afterwards', () => {
  const limits = [{ amount: 100, per: '1m', unit: 'tokens' }]
  const usage = (tokens?: number): string =>
    JSON.stringify(tokens === undefined ? {} : { usage: { total_tokens: tokens } })
  const used = (egress: Egress): number => egress.stats()[0]!.limits[0]!.used

  test('is corrected by what the response reports', async () => {
    const { vendor, egress } = await start({ limits }, (_, response) => response.end(usage(30)))
    await (await egress.fetch(vendor.origin, { sluice: { cost: 80 } })).text()
    await (await egress.fetch(vendor.origin, { sluice: { cost: 60 } })).text()
    await expect.poll(() => used(egress)).toBe(60)
  })

  test('stays as reserved when the response does not report it', async () => {
    const { vendor, egress } = await start({ limits }, (_, response) => response.end(usage()))
    await (await egress.fetch(vendor.origin, { sluice: { cost: 80 } })).text()
    await expect.poll(() => used(egress)).toBe(80)
  })

  test('is at most the whole limit', async () => {
    const { vendor, egress } = await start({ limits }, (_, response) => response.end(usage()))
    expect((await egress.fetch(vendor.origin, { sluice: { cost: 10_000 } })).status).toBe(200)
  })

  test('is expected to be what the model answered lately, and at least a paragraph, where no maximum is given', async () => {
    const answer = JSON.stringify({ usage: { prompt_tokens: 4, completion_tokens: 600, total_tokens: 604 } })
    let seen = 0
    const spec = { limits: [{ amount: 100_000, per: '1m', unit: 'tokens' }] }
    const { vendor, egress } = await start(spec, (_, response) => {
      seen = used(egress)
      response.end(answer)
    })
    const body = JSON.stringify({ model: 'm', prompt: 'hello' })
    const input = Math.ceil(body.length / 4)
    const ask = async () => (await egress.fetch(vendor.origin, { method: 'POST', body })).text()
    await ask()
    expect(seen).toBe(input + 256)
    await expect.poll(() => used(egress)).toBe(604)
    await ask()
    expect(seen).toBe(604 + input + 600)
  })

  test('settles once when a stream is cut', async () => {
    const { vendor, egress } = await start({ limits }, (_, response) => {
      response.setHeader('content-type', 'text/event-stream')
      response.write('data: {"message":{"usage":{"input_tokens":5,"output_tokens":1}}}\n\n')
      setTimeout(() => response.destroy(), 20)
    })
    const response = await egress.fetch(vendor.origin, { sluice: { cost: 80 } })
    await response.text().catch(() => undefined)
    await expect.poll(() => used(egress)).toBe(80)
  })
})

test('a breaker stops calling a vendor that keeps failing', async () => {
  const spec = { retry: false as const, breaker: { failures: 3, cooldown: '10s' } }
  const { vendor, egress } = await start(spec, (_, response) => refuse(response, {}, 500))
  for (let i = 0; i < 3; i++) expect((await egress.fetch(vendor.origin)).status).toBe(500)
  await expect(egress.fetch(vendor.origin)).rejects.toMatchObject({ reason: 'breaker-open' })
  expect(vendor.arrivals).toHaveLength(3)
})

test('a call that a probe of the breaker keeps out is not asked to come back at once', async () => {
  const spec = { retry: false as const, breaker: { failures: 1, cooldown: '20ms' } }
  let probe: ServerResponse | undefined
  const { vendor, egress } = await start(spec, (_, response, count) => {
    if (count === 1) refuse(response, {}, 500)
    else probe = response
  })
  expect((await egress.fetch(vendor.origin)).status).toBe(500)
  const isProbed = (): boolean => {
    if (probe === undefined) void egress.fetch(vendor.origin).catch(() => undefined)
    return probe !== undefined
  }
  await expect.poll(isProbed).toBe(true)
  const refused = egress.fetch(vendor.origin)
  await expect(refused).rejects.toMatchObject({ reason: 'breaker-open', retryAfterMs: 1000 })
  probe!.end('ok')
})

test('a call that is aborted after it was written keeps its place until the response begins', async () => {
  const { vendor, egress } = await start(
    { limits: { amount: 1, per: '300ms' }, arrival: 'response' },
    (_, response) => {
      setTimeout(() => response.end('ok'), 400)
    },
  )
  const given = egress.fetch(vendor.origin, { signal: AbortSignal.timeout(100) })
  await expect(given).rejects.toMatchObject({ name: 'TimeoutError' })
  await egress.fetch(vendor.origin)
  expect(vendor.arrivals[1]! - vendor.arrivals[0]!).toBeGreaterThanOrEqual(700)
})
