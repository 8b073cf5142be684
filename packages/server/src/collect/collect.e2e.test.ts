import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Logger } from 'pino'
import { createShipper } from 'sluice/shipper'
import { startRedis } from 'sluice/testing'
import { afterEach, expect, it } from 'vitest'
import { FileBacked } from '../connections/file-backed.ts'
import { parseRedisUrl } from '../connections/redis-target.ts'
import { createLog } from '../log/create-log.ts'
import { type CollectConfig, type Collector, collect } from './collect.ts'

const opened: (() => unknown)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

async function start(
  changes: Partial<CollectConfig> = {},
  log?: Logger,
): Promise<{ collector: Collector; file: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-collect-'))
  opened.push(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'events.ndjson')
  const collector = await collect(
    {
      host: '127.0.0.1',
      port: 0,
      portGiven: true,
      path: '/v1/events',
      target: { file },
      redis: undefined,
      policy: undefined,
      service: 'collector',
      tokens: undefined,
      tls: undefined,
      drainMs: 1000,
      ...changes,
    },
    false,
    log,
  )
  opened.push(() => collector.close())
  return { collector, file }
}

const lines = async (file: string): Promise<{ id: string; data: unknown }[]> =>
  (await readFile(file, 'utf8'))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: body as string })

/** Why it is not ready, apart from what else the machine does. */
async function reasonsOf({ url }: Collector): Promise<string[]> {
  const { reasons } = (await (await fetch(new URL('/ready', url))).json()) as { readonly reasons: string[] }
  return reasons.filter((reason) => !reason.startsWith('The load is '))
}

it('has metrics, and logs what it could not store', async () => {
  const lines: Record<string, unknown>[] = []
  const log = createLog('info', { write: (line: string) => void lines.push(JSON.parse(line)) })
  const { collector } = await start({ target: { url: 'http://127.0.0.1:1/events' } }, log)
  await post(`${collector.url}/capacity`, '{"shipper":"a"}')
  expect((await post(collector.url, '{"events":[{"id":"a-1","data":1}]}')).status).toBe(503)
  expect((await post(collector.url, 'no')).status).toBe(400)
  await post(`${collector.url}/elsewhere`, 'no')
  // On a busy machine it also says that shippers are told another rate.
  expect(lines.filter(({ level }) => level !== 'info').map(({ level, msg }) => [level, msg])).toEqual([
    ['warn', 'events could not be stored'],
    ['warn', 'a batch was refused'],
  ])
  const text = await (await fetch(new URL('/metrics', collector.url))).text()
  expect(text).toMatch(/^sluice_capacity_asked_total\{ready="(true|false)"\} 1$/m)
  expect(text).toContain('sluice_http_requests_total{route="/v1/events",status="503"} 1')
  expect(text).toContain('sluice_http_requests_total{route="other",status="404"} 1')
})

it('accepts what a shipper sends, each event once, and answers with its capacity', async () => {
  const { collector, file } = await start()
  const dir = join(file, '..', 'buffer')
  const shipper = await createShipper({ dir, endpoint: collector.url, flushInterval: false })
  await Promise.all(Array.from({ length: 250 }, (_, n) => shipper.ship({ n })))
  await expect
    .poll(
      async () => {
        await shipper.flush()
        return (await lines(file)).length
      },
      { timeout: 20_000 },
    )
    .toBe(250)
  await shipper.close()
  expect(new Set((await lines(file)).map(({ id }) => id)).size).toBe(250)
})

it('drops what came before, also through another collector on the same Redis', async () => {
  const redis = await startRedis()
  opened.push(() => redis.stop())
  const a = await start({ redis: parseRedisUrl(redis.url, '--redis') })
  const b = await start({ redis: parseRedisUrl(redis.url, '--redis') })
  const batch = JSON.stringify({ events: [{ id: 'p-1', data: 1 }] })
  expect(await (await post(a.collector.url, batch)).json()).toEqual({ results: [{ id: 'p-1', status: 'ok' }] })
  expect(await (await post(b.collector.url, batch)).json()).toEqual({ results: [{ id: 'p-1', status: 'duplicate' }] })
  expect(await lines(b.file)).toEqual([])
})

it('is not ready while the Redis that remembers ids is away, though no batch has come', async () => {
  const redis = await startRedis()
  const { collector } = await start({ redis: parseRedisUrl(redis.url, '--redis') })
  expect(await reasonsOf(collector)).toEqual([])
  await redis.stop()
  await expect.poll(() => reasonsOf(collector)).toEqual([expect.stringContaining('Redis')])
  expect((await fetch(new URL('/ready', collector.url))).status).toBe(503)
})

it('answers every error as a problem document', async () => {
  const { collector } = await start({ tokens: new FileBacked([], () => [{ name: 'sender', token: 'secret' }]) })
  const authorization = 'Bearer secret'
  const answers = [
    [await post(collector.url, '{}'), 401],
    [await post(collector.url, '{}', { authorization }), 400],
    [await post(collector.url, '{}', { authorization, 'content-encoding': 'br' }), 415],
    [await post(new URL('/nowhere', collector.url).href, '{}', { authorization }), 404],
  ] as const
  for (const [answer, status] of answers) {
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    const detail = expect.stringMatching(/./)
    expect(await answer.json()).toMatchObject({ type: 'about:blank', title: detail, status, detail })
  }
})

it('reads gzip, refuses what is too large or malformed, and requires the token where there is one', async () => {
  const { collector, file } = await start({ tokens: new FileBacked([], () => [{ name: 'sender', token: 'secret' }]) })
  const good = gzipSync(JSON.stringify({ events: [{ id: 'z-1', data: 'x' }] }))
  const zipped = { 'content-encoding': 'gzip' }
  expect((await post(collector.url, good, zipped)).status).toBe(401)
  expect((await post(collector.url, good, { ...zipped, authorization: 'Bearer wrong' })).status).toBe(401)
  expect((await post(collector.url, good, { ...zipped, authorization: 'Basic secret' })).status).toBe(401)
  const authorization = 'bearer secret'
  expect((await post(collector.url, good, { ...zipped, authorization })).status).toBe(200)
  expect((await post(collector.url, 'not json', { authorization })).status).toBe(400)
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024))
  expect((await post(collector.url, bomb, { ...zipped, authorization })).status).toBe(413)
  expect(await lines(file)).toEqual([{ id: 'z-1', data: 'x' }])
  expect(await reasonsOf(collector)).toEqual([])
})

it('answers retry while the server behind it is away', async () => {
  const { collector } = await start({ target: { url: 'http://127.0.0.1:1/nowhere' } })
  const answer = await post(collector.url, JSON.stringify({ events: [{ id: 'p-1', data: 1 }] }))
  expect(answer.status).toBe(503)
})

it('answers according to the table of a policy', async () => {
  const { file } = await start()
  const policy = join(file, '..', 'sluice.yaml')
  const table = 'table: [{ below: 100, maxBatchSize: 7, delay: 30ms }]'
  await writeFile(
    policy,
    `service: collector\ncapacity:\n  ${table}\nrules:\n  - { name: ip, key: ip, limits: { rpm: 1 } }\n`,
  )
  const { collector } = await start({ policy })
  const answer = await post(`${collector.url}/capacity`, '{"shipper":"a","pending":1}')
  expect(await answer.json()).toMatchObject({ ready: true, maxBatchSize: 7, delayBetweenBatches: 30 })
})

it('holds the rules of its policy, by the events that a batch really has; senders keep what is refused', async () => {
  const { file } = await start()
  const policy = join(file, '..', 'sluice.yaml')
  const agent = '{ name: agent, key: headers.x-agent-id, onMissing: deny, limits: { rpm: 250 }, cost: context.events }'
  await writeFile(policy, `service: collector\nrules: [${agent}]\n`)
  const { collector, file: into } = await start({ policy })
  const send = (from: number, count: number, headers: Record<string, string> = {}) => {
    const events = Array.from({ length: count }, (_, n) => ({ id: `p-${from + n}`, data: n }))
    return post(collector.url, JSON.stringify({ events }), headers)
  }
  expect((await send(0, 10)).status).toBe(403)
  const agentA = { 'x-agent-id': 'a', 'x-event-count': '1' }
  expect((await send(0, 200, agentA)).status).toBe(200)
  const denied = await send(200, 100, agentA)
  expect(denied.status).toBe(429)
  expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await send(200, 50, agentA)).status).toBe(200)
  expect((await send(300, 200, { 'x-agent-id': 'b' })).status).toBe(200)
  expect(await lines(into)).toHaveLength(450)
})
