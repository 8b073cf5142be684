import fc from 'fast-check'
import { maxReportBytes } from 'sluice/reports'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Daemon } from '../../serve.ts'
import { send, startDaemon } from '../../testing/started.ts'
import { fleetStats } from './fleet.ts'

const counts = { allowed: 1, denied: 1, degraded: 0 }
const rule = { rule: 'r', ...counts, hottest: [], mostDenied: [] }
const denial = { number: 1, agoMs: 5, rule: 'r', key: 'k', reason: 'quota', limit: null, retryAfterMs: 1, cost: 1 }
const good = {
  decisions: counts,
  recent: [[1, 1, 0]],
  rules: [rule],
  second: 5,
  latency: [1],
  recounts: [],
  denials: [denial],
}
const report = (replica: string, stats: unknown, kind = 'limiter') => ({
  ...{ v: 1, service: 'example', replica, host: 'h', pid: 1, startedAt: 0, omitted: [] },
  sections: [{ kind, name: '', stats }],
})

/** Statistics of a limiter in which one value, somewhere, is something else. */
const spoilt = fc
  .tuple(fc.nat(), fc.constantFrom(null, -1, 1e308, 'x', [], {}, [null], [[null, 1, 1]], { rule: null }, true))
  .map(([at, value]) => {
    let left = at % 30
    return JSON.parse(JSON.stringify(good), (key, each) => (key !== '' && left-- === 0 ? value : each)) as unknown
  })

describe('reports of an attacker who may ask for decisions', () => {
  let daemon: Daemon
  beforeAll(async () => {
    daemon = await startDaemon()
  })
  afterAll(() => daemon?.close())
  const post = (body: unknown) => send(`${daemon.url}/v1/reports`, 'POST', body)
  const figures = async (): Promise<number[]> =>
    Promise.all(
      ['/v1/stats', '/v1/overview', '/v1/rules', '/v1/denials'].map(
        async (path) => (await send(daemon.url + path, 'GET')).status,
      ),
    )

  test('never stop the daemon, whatever they say', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(spoilt, { minLength: 1, maxLength: 10 }), async (all) => {
        for (const [i, stats] of all.entries()) await post(report(`spoilt-${i}`, stats))
        expect(await figures()).toEqual([200, 200, 200, 200])
      }),
      { numRuns: 40 },
    )
    for (const [i, rules] of [[null], [{ ...rule, hottest: [null] }], [{ ...rule, rule: 7 }]].entries())
      await post(report(`by-hand-${i}`, { ...good, rules }))
    // The daemon looks at its fleet by itself, too.
    await new Promise((resolve) => setTimeout(resolve, 2500))
    expect(await figures()).toEqual([200, 200, 200, 200])
  })

  test('that are too large, or of too many processes, are refused', async () => {
    expect((await post('x'.repeat(10_000_000))).status).toBe(413)
    expect((await post(report('long', 'x'.repeat(maxReportBytes)))).status).toBe(413)
    // Time stands still, so that none expires meanwhile on a busy machine.
    const time = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
    const large = { ...good, filler: 'x'.repeat(60_000) }
    const statuses: number[] = []
    for (let from = 0; from < 400; from += 50)
      statuses.push(
        ...(await Promise.all(
          Array.from({ length: 50 }, async (_, i) => (await post(report(`forged-${from + i}`, large))).status),
        )),
      )
    time.mockRestore()
    expect(statuses).toContain(503)
    expect(await figures()).toEqual([200, 200, 200, 200])
  })
})

test('a fleet in which one rule is reported very often is added up in one go', () => {
  const rules = Array.from({ length: 500 }, () => rule)
  const reports = Array.from({ length: 400 }, (_, i) => ({ ageMs: 0, report: report(`${i}`, { ...good, rules }) }))
  expect(fleetStats(reports as never, 10, 0).rules).toMatchObject([{ rule: 'r', allowed: 200_000 }])
})

test.each([[null], [{ ...rule, allowed: -1 }], [{ ...rule, rule: 7 }], [{ ...rule, hottest: [null] }]])(
  'a report with %j for a rule does not count',
  (wrong) => {
    const reports = [{ ageMs: 0, report: report('a', { ...good, rules: [wrong] }) }]
    expect(fleetStats(reports as never, 10, 0).rules).toEqual([])
  },
)
