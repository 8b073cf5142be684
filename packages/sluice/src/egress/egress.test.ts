import { afterEach, describe, expect, test } from 'vitest'
import { createLimiter } from '../limiter/create-limiter.ts'
import type { UpstreamSpec } from '../policy/document/upstream-spec.ts'
import { createEgress } from './create-egress.ts'
import type { Egress } from './egress.ts'
import { mostInAnyPeriod, startVendor, type Vendor } from './testing/vendor.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close()
})

async function start(
  spec: Partial<UpstreamSpec>,
  answer?: Parameters<typeof startVendor>[0],
): Promise<{ vendor: Vendor; egress: Egress }> {
  const vendor = await startVendor(answer)
  // The vendor is in this process, so a busy event loop delays its arrivals.
  const upstream = { name: 'vendor', origin: vendor.origin, arrival: 'response' as const, ...spec }
  const egress = await createEgress({ policy: { service: 'ingest', upstreams: [upstream] } })
  opened.push(egress, vendor)
  return { vendor, egress }
}

describe('in process', () => {
  test('never sends more than the limit in any rolling period, and keeps the rate up', async () => {
    const { vendor, egress } = await start({ limits: { amount: 25, per: '200ms' } })
    const began = performance.now()
    const responses = await Promise.all(Array.from({ length: 150 }, () => egress.fetch(`${vendor.origin}/x`)))
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
    expect(vendor.arrivals).toHaveLength(150)
    expect(mostInAnyPeriod(vendor.arrivals, 200)).toBeLessThanOrEqual(25)
    expect(performance.now() - began).toBeGreaterThan(1000)
  })

  test("takes the platform's Request, as clients give it to a fetch of your own", async () => {
    const { vendor, egress } = await start({ limits: { rps: 25 } }, async (request, response) => {
      let body = ''
      for await (const chunk of request) body += chunk
      response.end(
        [request.method, request.url, request.headers['x-a'], request.headers['content-length'], body].join(' '),
      )
    })
    const answer = async (...args: Parameters<Egress['fetch']>) => (await egress.fetch(...args)).text()
    const post = new Request(`${vendor.origin}/p`, { method: 'POST', headers: { 'x-a': '1' }, body: '{"a":1}' })
    expect(await answer(post)).toBe('POST /p 1 7 {"a":1}')
    expect(await answer(new Request(`${vendor.origin}/g`), { headers: { 'x-a': '2' } })).toBe('GET /g 2  ')
    const aborted = new Request(vendor.origin, { signal: AbortSignal.abort() })
    await expect(egress.fetch(aborted)).rejects.toMatchObject({ name: 'AbortError' })
  })

  test('holds several limits and what is in flight as one step', async () => {
    let inFlight = 0
    let most = 0
    const { vendor, egress } = await start(
      {
        limits: [
          { amount: 10, per: '100ms' },
          { amount: 30, per: '1s' },
        ],
        concurrency: 3,
      },
      (_, response) => {
        most = Math.max(most, ++inFlight)
        setTimeout(() => {
          inFlight -= 1
          response.end('ok')
        }, 5)
      },
    )
    await Promise.all(Array.from({ length: 50 }, async () => (await egress.fetch(vendor.origin)).text()))
    expect(most).toBeLessThanOrEqual(3)
    expect(mostInAnyPeriod(vendor.arrivals, 100)).toBeLessThanOrEqual(10)
    expect(mostInAnyPeriod(vendor.arrivals, 1000)).toBeLessThanOrEqual(30)
  })

  test('refuses at arrival what cannot be granted within its maximum wait, and reports when it could be', async () => {
    const { vendor, egress } = await start({ limits: { amount: 1, per: '400ms' }, maxWait: '1s' })
    const startMs = performance.now()
    let refusedMs = 0
    const calls = Array.from({ length: 5 }, () =>
      egress.fetch(vendor.origin).then(
        (r) => r.status,
        (e) => {
          refusedMs = performance.now()
          return e
        },
      ),
    )
    const results = await Promise.all(calls)
    expect(results.slice(0, 3)).toEqual([200, 200, 200])
    expect(results[3]).toMatchObject({ code: 'SLUICE_REFUSED', reason: 'wait-too-long' })
    expect(results[4]).toMatchObject({ code: 'SLUICE_REFUSED', reason: 'queue-full', position: 4 })
    // Four periods after the first call at the earliest, however late this is refused.
    expect(refusedMs + results[4].retryAfterMs).toBeGreaterThanOrEqual(startMs + 1600)
    expect(results[4].retryAfterMs).toBeLessThan(1700)
  })

  test('an unknown origin is refused and never reached', async () => {
    const { egress } = await start({ limits: { rps: 1 } })
    await expect(egress.fetch('http://127.0.0.1:8081/x')).rejects.toMatchObject({ code: 'SLUICE_UNKNOWN_UPSTREAM' })
  })

  test('a call that is aborted while it waits leaves the queue and spends nothing', async () => {
    const { vendor, egress } = await start({ limits: { amount: 1, per: '300ms' } })
    await egress.fetch(vendor.origin)
    const signal = AbortSignal.timeout(20)
    const given = egress.fetch(vendor.origin, { signal }).catch((error: Error) => error.name)
    expect(await given).toBe('TimeoutError')
    expect(egress.stats()[0]).toMatchObject({ waiting: 0 })
    await egress.fetch(vendor.origin)
    expect(vendor.arrivals).toHaveLength(2)
  })

  test('a vendor that cannot be reached costs nothing', async () => {
    const { vendor, egress } = await start({ limits: { amount: 1, per: '10s' }, retry: false })
    await vendor.close()
    opened.splice(1, 1)
    for (let i = 0; i < 3; i++)
      await expect(egress.fetch(vendor.origin)).rejects.toMatchObject({ reason: 'unreachable', written: false })
  })

  test('close settles every waiter', async () => {
    const { vendor, egress } = await start({ limits: { amount: 1, per: '10s' } })
    await (await egress.fetch(vendor.origin)).text()
    const waiting = Promise.all(
      Array.from({ length: 5 }, () => egress.fetch(vendor.origin).catch(({ code }: { code: string }) => code)),
    )
    await new Promise((resolve) => setImmediate(resolve))
    await egress.close()
    expect(new Set(await waiting)).toEqual(new Set(['SLUICE_CLOSED']))
  })

  test('a proxy can send a request by the name of the upstream', async () => {
    const { egress } = await start({ limits: { rps: 5 } }, (request, response) => {
      response.setHeader('x-path', request.url ?? '')
      request.pipe(response)
    })
    const response = await egress.request({ upstream: 'vendor', path: '/graphql?x=1', method: 'POST', body: 'hello' })
    const chunks: Buffer[] = []
    for await (const chunk of response.body) chunks.push(chunk as Buffer)
    expect(response).toMatchObject({ status: 200, upstream: 'vendor', attempts: 1 })
    expect(Buffer.concat(chunks).toString()).toBe('hello')
    expect(response.rawHeaders.map(String)).toContain('/graphql?x=1')
  })

  test('names of tenants from requests cannot reach into the queue of another', async () => {
    const vendor = await startVendor()
    const upstream = { name: 'vendor', origin: vendor.origin, limits: { amount: 1, per: '50ms' } }
    const hooks = { vendor: { fairBy: ({ path }: { path: string }) => decodeURIComponent(path.slice(1)) } }
    const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] }, hooks })
    opened.push(egress, vendor)
    const tenants = ['a', 'a\0b', 'x'.repeat(5000), 'ü'.repeat(100), '{tag}', '__proto__']
    const calls = tenants.map((tenant) => egress.fetch(`${vendor.origin}/${encodeURIComponent(tenant)}`))
    for (const call of calls) expect((await call).status).toBe(200)
  })
})

describe('options that cannot be meant are refused', () => {
  const upstream = { name: 'vendor', origin: 'https://v.example', limits: { rps: 1 } }
  test.each<[string, object]>([
    ['an option that does not exist', { polcy: {} }],
    ['hooks of an upstream that does not exist', { hooks: { vendr: {} } }],
    ['a hook that does not exist', { hooks: { vendor: { costs: () => 1 } } }],
    ['a hook that is no function', { hooks: { vendor: { cost: 1 } } }],
  ])('%s', async (_, options) => {
    const given = { policy: { service: 's', upstreams: [upstream] }, ...options }
    await expect(createEgress(given)).rejects.toMatchObject({ code: 'SLUICE_INVALID_OPTION' })
  })

  test.each<[string, object]>([
    ['a priority that is no number', { priority: Number.NaN }],
    ['an endless priority', { priority: Number.POSITIVE_INFINITY }],
    ['a priority as text', { priority: '5' }],
    ['a maximum wait that is no number', { maxWaitMs: Number.NaN }],
  ])('a call with %s', async (_, sluice) => {
    const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] } })
    await expect(egress.fetch('https://v.example', { sluice })).rejects.toMatchObject({ code: 'SLUICE_INVALID_OPTION' })
    await egress.close()
  })

  test.each<[string, object]>([
    ['an algorithm', { limits: { rps: 1, algorithm: 'gcra' } }],
    ['a burst', { limits: { amount: 1, per: '1s', burst: 5 } }],
    ['an alignment', { limits: { rpm: 1, align: 'clock' } }],
    ['no limit at all', { limits: undefined }],
    ['credentials in the origin', { origin: 'https://user:secret@v.example' }],
    ['an origin that is none', { origin: 'ftp://v.example' }],
    ['an arrival that is no time', { arrival: 'soon' }],
  ])('a policy with %s', async (_, changed) => {
    const policy = { service: 's', upstreams: [{ ...upstream, ...changed }] }
    await expect(createEgress({ policy })).rejects.toMatchObject({ code: 'SLUICE_INVALID_POLICY' })
  })
})

test('an event that does not exist is refused with the name that was probably meant', async () => {
  const upstreams = [{ name: 'vendor', origin: 'https://v.example', limits: { rps: 1 } }]
  const egress = await createEgress({ policy: { service: 's', upstreams } })
  expect(() => egress.on('storeFailure' as never, () => {})).toThrow(/did you mean "?storeFailed/)
  await egress.close()
})

test('a limiter ignores upstreams, and egress ignores rules', async () => {
  const policy = {
    service: 's',
    rules: [{ name: 'per-user', limits: { rpm: 1 } }],
    upstreams: [{ name: 'vendor', origin: 'https://v.example', limits: { rps: 1 } }],
  }
  const [limiter, egress] = [await createLimiter({ policy }), await createEgress({ policy })]
  opened.push(limiter, egress)
  expect((await limiter.take('u')).allowed).toBe(true)
  expect(egress.upstreams.map(({ name }) => name)).toEqual(['vendor'])
})
