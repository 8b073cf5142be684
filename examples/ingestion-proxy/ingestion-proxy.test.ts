import { readEnv } from 'example-service'
import type { Program } from 'example-service/programs'
import { type PostgresServer, type RedisServer, startPostgres, startRedis, waitFor } from 'sluice/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { vendorCalls } from './src/call-vendor.ts'
import { run, serveReplicas } from './src/programs.ts'
import { mostInAnySecond, startVendor } from './src/vendor.ts'

vi.setConfig({ testTimeout: 120_000 })
const question = { operationName: 'Test', query: 'query Test { diamonds_by_query_count(query: {}) }' }
const basic = `Basic ${Buffer.from('user:secret').toString('base64')}`
let redis: RedisServer
let postgres: PostgresServer
let vendor: Awaited<ReturnType<typeof startVendor>>
/** The variables of the document. */
let env: Record<string, string>
const running: Program[] = []

beforeAll(async () => {
  ;[redis, postgres] = await Promise.all([startRedis(), startPostgres()])
})
afterAll(() => Promise.all([redis.stop(), postgres.stop()]))
beforeEach(async () => {
  vendor = await startVendor(3)
  const credentials = { NIVODA_ENDPOINT: vendor.url, NIVODA_USERNAME: 'user', NIVODA_PASSWORD: 'secret' }
  env = { ...credentials, INTERNAL_SERVICE_TOKEN: 'inside' }
})
afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.stop()))
  vendor.close()
})

const start = (name: string, given: Record<string, string>): Program => {
  const program = run(name, given)
  running.push(program)
  return program
}
async function startProxies(count: number, more: Record<string, string> = {}) {
  const { programs, urls } = await serveReplicas('main', count, { ...env, ...more })
  running.push(...programs)
  return { proxy: programs[0]!, url: urls[0]!, urls }
}
const post = (url: string, headers: Record<string, string> = { 'x-internal-token': 'inside' }): Promise<Response> =>
  fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(question),
  })

// On a busy machine the vendor reads late, so that here only responses prove that a call has arrived.
describe('the limit', () => {
  test('of 25 a second holds over three replicas, for the vendor', async () => {
    const { urls } = await startProxies(3, { REDIS_URL: redis.url, NIVODA_ARRIVAL: 'response' })
    const answers = await Promise.all(Array.from({ length: 75 }, (_, i) => post(urls[i % 3]!)))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    expect(mostInAnySecond(vendor.arrivals)).toBeLessThanOrEqual(25)
  })

  test('serves 25 a second of many at once where nobody may wait, and refuses the rest with Retry-After', async () => {
    const { proxy, url } = await startProxies(1, {
      ...{ NIVODA_PROXY_RATE_LIMIT_MAX_WAIT_MS: '50', NIVODA_ARRIVAL: 'response' },
    })
    const answers = await Promise.all(Array.from({ length: 200 }, () => post(url)))
    const refused = answers.filter(({ status }) => status === 429)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(vendor.arrivals.length)
    expect(vendor.arrivals.length + refused.length).toBe(200)
    // 25 and the document's tolerance of one, for every second that a slow machine needs to send them all.
    const tookMs = vendor.arrivals.at(-1)!.atMs - vendor.arrivals[0]!.atMs
    expect(vendor.arrivals.length).toBeLessThanOrEqual(26 + 25 * (tookMs / 1000))
    expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refused[0]!.json()).toMatchObject({ error: { code: 'TOO_MANY_REQUESTS' } })
    await waitFor(() => proxy.events('ingestion_proxy_rate_limited').length === refused.length)
    // As the document's queries count them, which take any letter case.
    const saying = (word: string) =>
      proxy.lines.filter((line) => line.includes('ingestion_proxy') && line.toLowerCase().includes(word)).length
    expect([saying('request'), saying('rate_limited'), saying('failed')]).toEqual([
      200 - refused.length,
      refused.length,
      0,
    ])
    expect(proxy.lines.filter((line) => /queueDepth":([0-9]+)/.test(line))).toHaveLength(200)
  })
})

test('a proxy that was killed with calls in flight goes on once it is started again, long before they time out', async () => {
  vendor.close()
  vendor = await startVendor(3, 600_000)
  const shared = { REDIS_URL: redis.url, NIVODA_ENDPOINT: vendor.url }
  const { proxy, url } = await startProxies(1, shared)
  const arrived = (count: number) => waitFor(() => vendor.arrivals.length === count, { timeoutMs: 30_000 })
  const lost = Array.from({ length: 25 }, () => post(url).catch(() => undefined))
  await arrived(25)
  await proxy.stop('SIGKILL')
  await Promise.all(lost)
  const next = await startProxies(1, shared)
  void post(next.url).catch(() => undefined)
  await arrived(26)
  await next.proxy.stop('SIGKILL')
})

test('a proxy that ends answers what it has sent, and refuses what still waits without sending it', async () => {
  const { proxy, url } = await startProxies(1, { NIVODA_PROXY_RATE_LIMIT: '2', DRAIN_MS: '4000' })
  const answers = Array.from({ length: 20 }, () => post(url).then(({ status }) => status))
  const { metricsUrl } = await proxy.event('started')
  const waiting = async () =>
    /sluice_egress_waiting\S* (\d+)/.exec(await (await fetch(`${metricsUrl}/metrics`)).text())?.[1]
  await waitFor(async () => Number(await waiting()) === 20 - vendor.arrivals.length)
  await proxy.stop()
  const statuses = await Promise.all(answers)
  expect(new Set(statuses)).toEqual(new Set([200, 503]))
  expect(statuses.filter((status) => status === 200)).toHaveLength(vendor.arrivals.length)
})

test('the proxy calls the endpoint as it is given, with credentials and without what callers send', async () => {
  const { proxy, url } = await startProxies(1, { INTERNAL_SERVICE_TOKEN_NEXT: 'next' })
  expect((await post(url, {})).status).toBe(401)
  const token = { 'x-internal-token': 'inside', 'content-type': 'application/json' }
  const send = (body: string) => fetch(`${url}/graphql`, { method: 'POST', headers: token, body })
  expect([(await send('{')).status, (await send(`"${'x'.repeat(2 ** 20)}"`)).status]).toEqual([400, 413])
  expect((await post(url, { 'x-internal-token': 'next' })).status).toBe(200)
  expect((await fetch(`${url}/metrics`)).status).toBe(404)
  expect((await post(url, { 'x-internal-token': 'inside', 'x-trace-id': 't-1', cookie: 'a=b' })).status).toBe(200)
  expect(vendor.arrivals.map(({ path }) => path)).toEqual(['/graphql', '/graphql'])
  const { headers } = vendor.arrivals[1]!
  expect(headers).toMatchObject({ authorization: basic, 'x-trace-id': 't-1' })
  expect(headers).not.toHaveProperty('x-internal-token')
  expect(headers).not.toHaveProperty('cookie')
  await waitFor(() => proxy.events('ingestion_proxy_request').length === 2)
  expect(proxy.events('ingestion_proxy_request')[1]).toMatchObject({
    ...{ traceId: 't-1', method: 'POST', operationName: 'Test', statusCode: 200 },
    ...{ queueDepth: expect.any(Number), duration: expect.any(Number) },
  })
})

test('the proxy is rolled back by one variable, without giving the token away', async () => {
  const direct = vendorCalls(readEnv(env), () => undefined)
  await direct(question)
  const [{ headers, path }] = vendor.arrivals as [(typeof vendor.arrivals)[number]]
  expect(path).toBe('/graphql')
  expect(headers.authorization).toBe(basic)
  expect(headers).not.toHaveProperty('x-internal-token')
})

test('a vendor that is down is 502 and in the log; callers retry until it is back, and say so', async () => {
  vendor.answerWith(502)
  const { proxy, url } = await startProxies(1)
  const retries: object[] = []
  const given = readEnv({ ...env, NIVODA_PROXY_BASE_URL: url })
  const call = vendorCalls(given, (event, fields) => retries.push({ event, ...fields }))
  const asked = call(question)
  await waitFor(() => retries.length > 0)
  expect(retries[0]).toMatchObject({ event: 'nivoda_request_retry', status: 502, attempt: 1 })
  vendor.answerWith(200)
  expect(await asked).toMatchObject({ data: { diamonds_by_query_count: 3 } })
  vendor.close()
  expect((await post(url)).status).toBe(502)
  await waitFor(() => proxy.events('ingestion_proxy_failed').length === 1)
})

test('/ready says when Redis is away, also before the first call', async () => {
  const { url } = await startProxies(1, { REDIS_URL: 'redis://127.0.0.1:1' })
  const ready = await fetch(`${url}/ready`)
  expect(ready.status).toBe(503)
  expect(await ready.json()).toMatchObject({ status: 'unhealthy', reason: 'redis' })
})

test('scheduler, worker and customer API are programs of their own', async () => {
  const { proxy, url } = await startProxies(1, { REDIS_URL: redis.url })
  const shared = { REDIS_URL: redis.url, DATABASE_URL: postgres.url }
  const caller = { ...shared, NIVODA_PROXY_BASE_URL: url, INTERNAL_SERVICE_TOKEN: 'inside' }
  expect(await start('scheduler-main', { ...caller, PAGE_SIZE: '2' }).ended).toBe(0)
  const workers = [start('worker-main', caller), start('worker-main', caller)]
  await waitFor(() => workers.flatMap((each) => each.events('page_ingested')).length === 2, { timeoutMs: 30_000 })
  // The customer API has no variable of the vendor, and answers while proxy and vendor are gone.
  const { url: api } = await start('customer-api-main', { DATABASE_URL: postgres.url }).event('started')
  await proxy.stop()
  vendor.close()
  const { diamonds } = (await (await fetch(`${api}/api/diamonds`)).json()) as { diamonds: { id: string }[] }
  expect(diamonds.map(({ id }) => id)).toEqual(['d0', 'd1', 'd2'])
  const wrong = start('customer-api-main', { DATABASE_URL: postgres.url, NIVODA_PROXY_BASE_URL: url })
  expect(await wrong.ended).toBe(2)
  expect(wrong.lines).toEqual(['NIVODA_PROXY_BASE_URL is set: the customer API does not call the vendor'])
})

test('a worker that ends gives back the page that it cannot finish', async () => {
  vendor.answerWith(502)
  const shared = { ...env, REDIS_URL: redis.url, DATABASE_URL: postgres.url, DRAIN_MS: '100' }
  const page = { offset: 0, limit: 2 }
  await redis.cli('RPUSH', 'ingestion:pages', JSON.stringify(page))
  const worker = start('worker-main', shared)
  await worker.event('nivoda_request_retry')
  await worker.stop()
  expect(await worker.ended).toBe(0)
  expect(worker.events('stopped')).toMatchObject([{ givenBack: page }])
  expect(await redis.cli('LPOP', 'ingestion:pages')).toBe(JSON.stringify(page))
})

test.each([
  [
    { NIVODA_PROXY_RATE_LIMIT_MAX_WAIT_MS: '0' },
    'NIVODA_PROXY_RATE_LIMIT_MAX_WAIT_MS is 0: use a whole number from 1 to 2147483647',
  ],
  [{ RATE_LIMIT_ON_REDIS_FAILURE: 'maybe' }, 'RATE_LIMIT_ON_REDIS_FAILURE is maybe: use closed, local, open'],
  [{ NIVODA_ENDPOINT: 'nivoda' }, 'NIVODA_ENDPOINT is nivoda: use https://api.nivoda.net/graphql'],
  [
    { NIVODA_ENDPOINT: 'https://user:secret@nivoda' },
    'NIVODA_ENDPOINT has credentials: use NIVODA_USERNAME and NIVODA_PASSWORD for them',
  ],
  [{ NIVODA_USERNAME: '' }, 'NIVODA_USERNAME is not set: set both, or none'],
  [{ NIVODA_ARRIVAL: 'soon' }, 'NIVODA_ARRIVAL is soon: use auto, response or a duration such as 50ms'],
  [{ REDIS_URL: 'http://redis:6379' }, 'REDIS_URL is http://redis:6379: use redis://host:6379'],
])('a wrong value is one line and an exit code: %j', async (wrong, line) => {
  const proxy = start('main', { ...env, ...wrong })
  expect(await proxy.ended).toBe(2)
  expect(proxy.lines).toEqual([line])
})
