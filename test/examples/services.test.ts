import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runProgram } from 'example-service/programs'
import { type PostgresServer, type RedisServer, startMongod, startPostgres, startRedis, waitFor } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runExample } from './running-example.ts'

const mongod = await startMongod()
let redis: RedisServer
let postgres: PostgresServer
let taken: Server
const env: Record<string, string> = {
  NIVODA_ENDPOINT: 'http://127.0.0.1:9/graphql',
  INTERNAL_SERVICE_TOKEN: 'inside',
  ...(mongod.available && { MONGODB_URL: mongod.url }),
}

beforeAll(async () => {
  ;[redis, postgres] = await Promise.all([startRedis(), startPostgres()])
  taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  Object.assign(env, { REDIS_URL: redis.url, DATABASE_URL: postgres.url })
})
afterAll(async () => {
  taken.close()
  await Promise.all([redis.stop(), postgres.stop(), mongod.available ? mongod.stop() : undefined])
})

test('the agent of event-pooler says what waits when it is interrupted, and which variable is missing', async () => {
  const without = runExample('event-pooler', 'start', {})
  expect(await without.ended).toBe(2)
  expect(without.lines.join('\n')).toMatch(/^POOLER_ENDPOINT is not set: .+$/)
  const dir = mkdtempSync(join(tmpdir(), 'sluice-agent-'))
  const given = { POOLER_ENDPOINT: 'http://127.0.0.1:9/', SLUICE_SHIPPER_DIR: dir }
  const { child, event, ended } = runExample('event-pooler', 'start', given)
  try {
    await event('stored')
  } finally {
    child.kill('SIGTERM')
  }
  expect(await ended).toBe(0)
  expect(await event('stopped')).toMatchObject({ pending: expect.any(Number), dir })
})

test('the demo prints a link that signs in once, and ends when it is interrupted', async () => {
  const { child, lines, ended } = runExample('demo', 'start', {})
  try {
    const link = () => /page {2}(http\S+)\/#code=(\S+)/.exec(lines.join('\n'))
    await waitFor(() => link() !== null || child.exitCode !== null, { timeoutMs: 25_000 })
    const [, url, secret] = link()!
    const signIn = () =>
      fetch(`${url}/v1/session`, {
        method: 'POST',
        headers: { 'x-sluice-page': '1', 'content-type': 'application/json' },
        body: JSON.stringify({ secret }),
      })
    expect([(await signIn()).ok, (await signIn()).ok]).toEqual([true, false])
  } finally {
    child.kill('SIGTERM')
  }
  expect(await ended).toBe(0)
})

test.each([
  ['recommend-api', { ENRICHMENT_FILE: import.meta.filename }, /^ENRICHMENT_FILE: /],
  ['recommend-api', { TRACE_FILE: join(import.meta.dirname, 'none', 'spans') }, /^TRACE_FILE: ENOENT/],
  ['recommend-api', { RATE_LIMIT_TIER_ACME: 'gold' }, /RATE_LIMIT_TIER_ACME is "gold"; no tier of that name/],
  ['price-api', { TRUSTED_PROXIES: '10.0.0.0/99' }, /trustedProxies\[0\] is "10.0.0.0\/99"/],
  // Before it connects to anything.
  ['price-api', { REDIS_URL: 'redis:6379', DATABASE_URL: 'postgres://127.0.0.1:1/x' }, /^REDIS_URL is redis:6379: use/],
])('%s says in one line what is wrong with %j', async (name, wrong, line) => {
  const { ended, lines } = runExample(name, 'start', { ...env, ...(wrong as Record<string, string>) })
  expect(await ended).toBe(2)
  expect(lines).toEqual([expect.stringMatching(line)])
})

test.each([
  ...['price-api', 'recommend-api', 'sentiment-service', 'image-service', 'ingestion-proxy'].map((name) => [
    name,
    'demo',
  ]),
  ['demo', 'main'],
])('the demonstration of %s says in one line which server is not installed', async (name, program) => {
  const file = join(import.meta.dirname, '..', '..', 'examples', name!, 'dist', `${program}.js`)
  const { ended, lines } = runProgram([file], { PATH: '/nowhere' })
  expect(await ended).toBe(1)
  expect(lines).toEqual([expect.stringMatching(/^redis-server or valkey-server was not found on PATH: install Redis/)])
})

/** The programs that serve requests, and a variable that each cannot do without. */
const programs = [
  { name: 'recommend-api', script: 'start', needs: 'DATABASE_URL' },
  { name: 'price-api', script: 'start', needs: 'DATABASE_URL' },
  { name: 'price-api', script: 'aggregator', needs: 'DATABASE_URL' },
  { name: 'ingestion-proxy', script: 'start', needs: 'NIVODA_ENDPOINT' },
  { name: 'sentiment-service', script: 'start', needs: 'MONGODB_URL' },
  { name: 'image-service', script: 'start', needs: 'MONGODB_URL' },
]

describe.each(programs)('$name: npm run $script', ({ name, script, needs }) => {
  const missing = needs === 'MONGODB_URL' && !mongod.available
  test.skipIf(missing)('has health, readiness and metrics apart from its routes, and drains on SIGTERM', async () => {
    const { event, child, ended } = runExample(name, script, env)
    try {
      const { url, metricsUrl } = await event('started')
      expect((await fetch(`${url}/health`)).status).toBe(200)
      expect(await (await fetch(`${url}/ready`)).json()).toMatchObject({ status: 'ready' })
      expect(await (await fetch(`${url}/metrics`)).text()).not.toContain('# HELP')
      expect(await (await fetch(`${metricsUrl}/metrics`)).text()).toContain('# HELP sluice_')
    } finally {
      child.kill('SIGTERM')
    }
    expect(await ended).toBe(0)
  })

  test.skipIf(missing)('says in one line what is wrong: a variable (2), or a port that is taken (1)', async () => {
    const { [needs]: _, ...others } = env
    const without = runExample(name, script, others)
    expect(await without.ended).toBe(2)
    expect(without.lines.join('\n')).toMatch(new RegExp(`^${needs} is not set: .+$`))
    const { port } = taken.address() as AddressInfo
    const second = runExample(name, script, { ...env, LOG_LEVEL: 'silent', PORT: String(port) })
    expect(await second.ended).toBe(1)
    expect(second.lines.join('\n')).toMatch(/^listen EADDRINUSE.+$/)
  })
})
