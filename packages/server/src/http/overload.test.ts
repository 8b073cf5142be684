import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RedisServer, startRedis } from 'sluice/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { Daemon } from '../serve.ts'
import { hold } from '../testing/held-to-description.ts'
import { send, startDaemon } from '../testing/started.ts'

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: { readonly decisions: { readonly allowed: boolean; readonly degraded: boolean }[] }
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-overload-'))
let redis: RedisServer
let daemon: Daemon | undefined
beforeAll(async () => {
  redis = await startRedis()
})
afterEach(async () => {
  await daemon?.close()
  daemon = undefined
})
afterAll(async () => {
  await redis?.stop()
  rmSync(folder, { recursive: true })
})

/** Each user may pass once a day; the other rules only cost time. */
async function started(rules: number, flags: Record<string, string> = {}): Promise<Daemon> {
  const file = join(folder, 'policy.yaml')
  const others = Array.from(
    { length: rules - 1 },
    (_, i) => `  - { name: r${i}, key: headers.x-user, limits: { rps: 1000000, rpm: 1000000, rpd: 10000000 } }`,
  )
  const once = '  - { name: once, key: headers.x-user, limits: { amount: 1, per: 1d } }'
  writeFileSync(file, [`service: s${crypto.randomUUID().slice(0, 8)}`, 'rules:', once, ...others].join('\n'))
  daemon = await startDaemon({ policy: file, redis: redis.url, ...flags })
  return daemon
}

function batchOf(checks: number): unknown {
  const request = (i: number) => ({ method: 'GET', path: '/', headers: { 'x-user': `u${i}` } })
  return { checks: Array.from({ length: checks }, (_, i) => ({ request: request(i) })) }
}

function post({ url }: Daemon, body: unknown): Promise<Answer> {
  return send(`${url}/v1/check`, 'POST', body)
}

test('batches at once admit exactly what the limit allows, and none is decided without Redis', async () => {
  const running = await started(30)
  const body = batchOf(500)
  const answers = await Promise.all([1, 2, 3, 4].map(() => post(running, body)))
  const decisions = answers.flatMap((answer) => answer.body.decisions)
  expect(decisions).toHaveLength(2000)
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(500)
  expect(decisions.filter(({ degraded }) => degraded)).toEqual([])
})

test('a batch with more charges than the bound is refused with 413, and nothing is spent', async () => {
  const running = await started(3, { 'max-batch': '299' })
  const refused = await post(running, batchOf(100))
  hold('POST', '/v1/check', batchOf(100), refused as never)
  expect(refused).toMatchObject({ status: 413, body: { title: 'Content Too Large' } })
  const { status, body } = await post(running, batchOf(99))
  expect(status).toBe(200)
  expect(body.decisions.filter(({ allowed }) => allowed)).toHaveLength(99)
})

test('more batches than can be in flight are refused with 503 and Retry-After, and the others are exact', async () => {
  const running = await started(10, { 'max-batch': '1000' })
  const answers = await Promise.all(Array.from({ length: 12 }, () => post(running, batchOf(100))))
  const refused = answers.filter(({ status }) => status === 503)
  expect(refused.length).toBeGreaterThan(0)
  for (const answer of refused) {
    hold('POST', '/v1/check', batchOf(100), answer as never)
    expect(answer.headers.get('retry-after')).toBe('1')
    expect(answer.body).toMatchObject({ code: 'SLUICE_OVERLOADED' })
  }
  const decided = answers.filter(({ status }) => status === 200)
  expect(decided.length + refused.length).toBe(12)
  expect(decided.flatMap(({ body }) => body.decisions).filter(({ allowed }) => allowed)).toHaveLength(100)
})

test.each([
  [1, 1000],
  [30, 100],
])(
  'a client with single checks waits for parts of batches on %i rules, never for whole ones',
  async (rules, checks) => {
    const running = await started(rules)
    const body = batchOf(checks)
    let batches = 0
    const sender = async (): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        expect((await post(running, body)).body.decisions).toHaveLength(checks)
        batches += 1
      }
    }
    const sending = Promise.all([sender(), sender(), sender()])
    let singles = 0
    let isOver = false
    void sending
      .catch(() => undefined)
      .finally(() => {
        isOver = true
      })
    while (!isOver) {
      const { status } = await post(running, { request: { headers: { 'x-user': `single-${singles}` } } })
      if (!isOver && status === 200) singles += 1
    }
    await sending
    expect(singles).toBeGreaterThan(batches)
  },
  60_000,
)
