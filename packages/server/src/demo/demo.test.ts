import { compilePolicy } from 'sluice/policy'
import { waitFor } from 'sluice/testing'
import { describe, expect, test } from 'vitest'
import { send, startDaemon } from '../testing/started.ts'
import { demoPolicy } from './demo-policy.ts'
import { demoStore } from './demo-store.ts'
import { demoAt } from './schedule.ts'

describe('the demo', () => {
  test('shows everything within its first two minutes, and again every few minutes', () => {
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

  test('has a policy that compiles, tight or not', () => {
    for (const rpm of [300, 600]) expect(compilePolicy(demoPolicy(rpm)).rules).toHaveLength(4)
  })

  test('has a store that can be away', async () => {
    const { store, setAway } = demoStore()
    setAway(true)
    expect((await store.health(100)).reachable).toBe(false)
    setAway(false)
    expect((await store.health(100)).reachable).toBe(true)
    await store.close()
  })

  test('makes traffic of all tenants at once', async () => {
    const daemon = await startDaemon({ demo: true })
    await waitFor(async () => {
      const { rules } = (await send(`${daemon.url}/v1/rules`, 'GET')).body as { rules: { allowed: number }[] }
      return rules[0]!.allowed > 20 && rules[1]!.allowed > 20
    })
    // The page can try a policy with it.
    const { text } = (await send(`${daemon.url}/v1/policy`, 'GET')).body as { text: string }
    const { body } = await send(`${daemon.url}/v1/policy/try`, 'POST', text.replace('rps: 20', 'rps: 1'))
    expect(body).toMatchObject({ requests: expect.any(Number), unknown: [] })
    expect((body as { requests: number }).requests).toBeGreaterThan(20)
    await daemon.close()
  })

  test('reports the parts that its service has beside the limiter', async () => {
    const daemon = await startDaemon({ demo: true })
    await waitFor(async () => {
      const { replicas } = (await send(`${daemon.url}/v1/stats`, 'GET')).body as {
        replicas: { parts: { kind: string; stats: unknown }[] }[]
      }
      const parts = replicas.flatMap((each) => each.parts)
      const cache = parts.find(({ kind }) => kind === 'cache')?.stats as { hits: { memory: number } } | undefined
      return (cache?.hits.memory ?? 0) > 0 && ['egress', 'breaker'].every((kind) => parts.some((p) => p.kind === kind))
    })
    await daemon.close()
  })

  test.each([{ redis: 'redis://127.0.0.1' }, { policy: 'sluice.yaml' }])('refuses %j beside it', async (flags) => {
    expect(() => startDaemon({ demo: true, ...flags })).toThrow('--demo brings its own')
  })
})
