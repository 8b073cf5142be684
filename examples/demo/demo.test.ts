import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { compilePolicy } from 'sluice/policy'
import { waitFor } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Demo, openDemo } from './src/open-demo.ts'
import { policyOf, rpm } from './src/policy.ts'
import { demoAt } from './src/schedule.ts'

test('the demo shows everything within its first two minutes, and again every few minutes', () => {
  const seconds = Array.from({ length: 900 }, (_, i) => demoAt(i * 1000))
  const first = (holds: (moment: (typeof seconds)[number]) => boolean): number => seconds.findIndex(holds)
  expect(first(({ rates }) => rates['acme-labs']! > 30)).toBeLessThan(30)
  expect(first(({ isStoreAway }) => isStoreAway)).toBeLessThan(60)
  expect(first(({ isTight }) => isTight)).toBeLessThan(120)
  expect(first(({ isModelAway }) => isModelAway)).toBeLessThan(120)
  const away = seconds.filter(({ isStoreAway }) => isStoreAway).length
  expect(away).toBe(20 * 4)
  expect(seconds.some(({ isTight }, i) => i > 200 && isTight)).toBe(true)
})

test('the demo has a policy that compiles, tight or not', () => {
  for (const each of Object.values(rpm)) expect(compilePolicy(policyOf(each)).rules).toHaveLength(4)
})

test('the demo runs without a terminal, and ends when it is told to', async () => {
  const child = spawn(process.execPath, [fileURLToPath(new URL('dist/main.js', import.meta.url))], {
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const [text] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer]
  const [url] = /http:[^#]+/.exec(String(text))!
  expect(await fetch(`${url}health`)).toMatchObject({ ok: true })
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})

describe('while the demo runs', () => {
  let demo: Demo
  beforeAll(async () => {
    demo = await openDemo({ port: '0', env: { SLUICE_ADMIN_TOKEN: 'token-of-the-tests' } })
  })
  afterAll(() => demo?.close())

  const send = async <T>(path: string, body?: string): Promise<T> => {
    const headers = { authorization: 'Bearer token-of-the-tests' }
    const post = body === undefined ? {} : { method: 'POST', body }
    return (await (await fetch(demo.daemon.url + path, { headers, ...post })).json()) as T
  }

  test('its tenants send requests, with which the page can try a policy', async () => {
    await waitFor(async () => {
      const { rules } = await send<{ rules: { allowed: number }[] }>('/v1/rules')
      return rules[0]!.allowed > 20 && rules[1]!.allowed > 20
    })
    const { text } = await send<{ text: string }>('/v1/policy')
    const tried = await send<{ requests: number }>('/v1/policy/try', text.replace('rps: 20', 'rps: 1'))
    expect(tried).toMatchObject({ requests: expect.any(Number), unknown: [] })
    expect(tried.requests).toBeGreaterThan(20)
  })

  test('its service reports the parts that it has beside the limiter', async () => {
    await waitFor(async () => {
      const { replicas } = await send<{ replicas: { parts: { kind: string; stats: unknown }[] }[] }>('/v1/stats')
      const parts = replicas.flatMap((each) => each.parts)
      const cache = parts.find(({ kind }) => kind === 'cache')?.stats as { hits: { memory: number } } | undefined
      return (cache?.hits.memory ?? 0) > 0 && ['egress', 'breaker'].every((kind) => parts.some((p) => p.kind === kind))
    })
  })
})
