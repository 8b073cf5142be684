import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PostgresServer, type RedisServer, startMongod, startPostgres, startRedis, waitFor } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runExample } from './running-example.ts'

const mongod = await startMongod()
let redis: RedisServer
let postgres: PostgresServer
let taken: Server
let env: Record<string, string>

beforeAll(async () => {
  redis = await startRedis()
  postgres = await startPostgres()
  // As the examples listen: on every interface.
  taken = createServer().listen(0)
  await once(taken, 'listening')
  env = { REDIS_URL: redis.url, DATABASE_URL: postgres.url, ...(mongod.available ? { MONGODB_URL: mongod.url } : {}) }
})
afterAll(async () => {
  taken.close()
  await Promise.all([redis.stop(), postgres.stop(), mongod.available ? mongod.stop() : undefined])
})

const services = [
  { name: 'price-api', needsMongod: false },
  { name: 'recommend-api', needsMongod: false },
  { name: 'image-service', needsMongod: true },
]

describe.each(services)('$name', ({ name, needsMongod }) => {
  const missing = needsMongod && !mongod.available
  test.skipIf(missing)(`ends with an error on a port that is taken${missing ? ' (no MongoDB)' : ''}`, async () => {
    const { port } = taken.address() as AddressInfo
    const { child, printed, ended } = runExample(name, 'start', [], { ...env, PORT: String(port) })
    try {
      await waitFor(() => child.exitCode !== null || printed().includes('curl'), { timeoutMs: 25_000 })
      expect(printed()).toMatch(/EADDRINUSE/)
      expect(printed()).not.toMatch(/curl/)
    } finally {
      child.kill('SIGKILL')
    }
    expect(await ended).toBe(1)
  })
})

test('price-api has a price as soon as it says what to try', async () => {
  const { child, printed, ended } = runExample('price-api', 'start', [], { ...env, PORT: '0' })
  try {
    await waitFor(() => printed().includes('curl'), { timeoutMs: 25_000 })
    const [url] = /http:[^']+/.exec(printed())!
    expect(await (await fetch(url)).json()).toMatchObject({ asset: 'XLM', stale_flag: false })
  } finally {
    child.kill('SIGINT')
  }
  expect(await ended).toBe(0)
})

test('the agent of event-pooler says what waits when it is interrupted', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-agent-'))
  const { child, printed, ended } = runExample(
    'event-pooler',
    'agent',
    ['--dir', dir, '--endpoint', 'http://127.0.0.1:9/'],
    {},
  )
  try {
    await waitFor(() => /^\w+-\d+$/m.test(printed()), { timeoutMs: 25_000 })
  } finally {
    child.kill('SIGINT')
  }
  expect(await ended).toBe(0)
  expect(printed()).toMatch(/\d+ events wait in/)
})

test('the proxy of ingestion-proxy drains when it is interrupted', async () => {
  const given = { NIVODA_ENDPOINT: 'http://127.0.0.1:9', REDIS_URL: redis.url, PORT: '0' }
  const { child, printed, ended } = runExample('ingestion-proxy', 'proxy', [], given)
  try {
    await waitFor(() => printed().includes('listening'), { timeoutMs: 25_000 })
  } finally {
    child.kill('SIGINT')
  }
  expect(await ended).toBe(0)
})

test('a script of an example that needs what is built, builds it', () => {
  const folder = join(import.meta.dirname, '..', '..', 'examples')
  for (const name of readdirSync(folder)) {
    const { scripts } = JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8'))
    for (const script of Object.values<string>(scripts))
      expect(script).toMatch(/--conditions=sluice-source|^npm run .* build && /)
  }
})
