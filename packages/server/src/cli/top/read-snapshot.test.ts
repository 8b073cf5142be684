import fc from 'fast-check'
import type { ReceivedReport } from 'sluice/reports'
import { expect, it } from 'vitest'
import { fleetStats } from '../../recent/fleet/fleet.ts'
import { readSnapshot } from './read-snapshot.ts'
import { viewOf } from './snapshot.ts'

const seconds = 60
/** Every process has decided for so long, and its key was counted all the time. */
const begunMs = 70_000

/** A process that decides evenly, in seconds that begin `phaseMs` within ours, as it reported at a moment. */
function reported(id: number, perSecond: number, phaseMs: number, sentMs: number, nowMs: number): ReceivedReport {
  const countAt = (ms: number): number => Math.floor((perSecond * ms) / 1000)
  const second = Math.floor((sentMs + phaseMs) / 1000)
  const recent = Array.from({ length: seconds }, (_, i) => {
    const fromMs = (second - seconds + 1 + i) * 1000 - phaseMs
    return [countAt(Math.min(sentMs, fromMs + 1000)) - countAt(fromMs), 0, 0]
  })
  const allowed = countAt(sentMs)
  const rule = { rule: 'r', allowed, denied: 0, degraded: 0, mostDenied: [] }
  const hottest = [{ key: 's/r/k', count: allowed, error: 0 }]
  const stats = { decisions: { allowed, denied: 0, degraded: 0 }, recent, rules: [{ ...rule, hottest }] }
  return {
    ageMs: nowMs - sentMs,
    report: {
      ...{ v: 1, service: 's', replica: `${id}`, host: 'h', pid: id, startedAt: 0, omitted: [], results: [] },
      sections: [{ kind: 'limiter', name: 'default', stats }],
    },
  } as never
}

it('shows the rates of all processes, whenever each reports and wherever its seconds begin', async () => {
  const process = fc.record({
    phaseMs: fc.integer({ min: 0, max: 999 }),
    everyMs: fc.integer({ min: 1000, max: 5000 }),
    lateMs: fc.integer({ min: 0, max: 900 }),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(process, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: 0, max: 9999 }),
      fc.integer({ min: 5500, max: 7000 }),
      async (processes, perSecond, laterMs, apartMs) => {
        const lookAt = (nowMs: number) => {
          const reports = processes.map(({ phaseMs, everyMs, lateMs }, i) => {
            const sentMs = Math.floor((nowMs - lateMs) / everyMs) * everyMs
            return reported(i, perSecond, phaseMs, sentMs, nowMs)
          })
          const rest = { service: 's', policy: { version: '1' }, store: { ok: true, name: 'memory' } }
          const json = async () => ({ ...rest, ...fleetStats(reports, 10, nowMs) })
          return readSnapshot({ address: '', json }, () => nowMs)
        }
        const [before, now] = [await lookAt(begunMs + laterMs), await lookAt(begunMs + laterMs + apartMs)]
        const view = viewOf(now, before, undefined, () => true)
        const all = perSecond * processes.length
        // What a process counted is whole: at most one off at either end.
        expect(Math.abs(view.allowedPerSecond - all)).toBeLessThanOrEqual(processes.length / 5 + 1e-6)
        const betweenMs = now.atMs - before.atMs
        if (betweenMs >= 500)
          expect(Math.abs(view.hottest[0]!.perSecond - all)).toBeLessThanOrEqual(
            (1000 * processes.length) / betweenMs + 1e-6,
          )
      },
    ),
  )
})
