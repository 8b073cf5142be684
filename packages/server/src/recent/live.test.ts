import { get } from 'node:http'
import fc from 'fast-check'
import { Hono } from 'hono'
import { waitFor } from 'sluice/testing'
import { describe, expect, test } from 'vitest'
import type { NodeEnv } from '../http/access/access.ts'
import { liveRoute } from '../http/routes/page/live.ts'
import type { LiveEntry } from '../shapes/page.ts'
import { send, startDaemon } from '../testing/started.ts'
import { FleetSeconds } from './fleet-seconds.ts'
import { LiveLog } from './live-log.ts'
import { Outages } from './outages.ts'
import { RuleHistory } from './rule-history.ts'

const second = (at: number, allowed: number): LiveEntry => ({
  ...{ kind: 'second', at, allowed, denied: 0, degraded: 0, p50Ms: null, p99Ms: null, replicas: 1 },
})

describe('the log of the last 15 minutes', () => {
  test('gives whoever comes back what it missed, once, wherever the connection broke', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.nat(3), fc.constant('break' as const)), { maxLength: 60 }), (steps) => {
        const log = new LiveLog('e1')
        const seen: LiveEntry[] = []
        const all: LiveEntry[] = []
        let id: string | undefined
        let stop: (() => void) | undefined
        const connect = (): void => {
          const replay = log.since(id)
          seen.push(...replay.entries)
          id = replay.id
          stop = log.listen((entries, last) => {
            seen.push(...entries)
            id = last
          })
        }
        for (const step of steps) {
          if (step === 'break') {
            stop?.()
            stop = undefined
            if (all.length % 2 === 0) connect()
            continue
          }
          const added = Array.from({ length: step }, (_, i) => second(1000 + all.length + i, 1))
          all.push(...added)
          log.append(added, 1_000_000)
        }
        if (stop === undefined) connect()
        expect(seen).toEqual(all)
      }),
    )
  })

  test.each([
    ['of another process', 'e2-3'],
    ['that never was', 'e1-99'],
    ['that is none', 'x'],
  ])('gives everything to whoever comes with an id %s', (_, id) => {
    const log = new LiveLog('e1')
    log.append([second(1, 1), second(2, 1), second(3, 1), second(2, 5)], 3000)
    const { resumed, entries } = log.since(id)
    expect(resumed).toBe(false)
    // The second that was corrected is there once.
    expect(entries).toEqual([second(1, 1), second(3, 1), second(2, 5)])
  })

  test('forgets what is older, and is bounded however often seconds are corrected', () => {
    const log = new LiveLog('e1')
    for (let at = 1; at <= 2000; at++) log.append([second(at, 1), second(at - 1, 2)], at * 1000)
    const { entries } = log.since(undefined)
    expect(entries.length).toBeLessThanOrEqual(902)
    expect(log.since('e1-10').resumed).toBe(false)
    for (let i = 0; i < 6000; i++) log.append([second(2000, i)], 2_000_000)
    expect(log.since(undefined).entries).toEqual([second(2000, 5999)])
  })
})

describe('the seconds of a fleet', () => {
  const recent = (...last: number[]): number[][] => [
    ...Array.from({ length: 60 - last.length }, () => [0, 0, 0]),
    ...last.map((allowed) => [allowed, 0, 0]),
  ]

  test('are the sums of all processes, each second of each process once, however reports overlap', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ replica: fc.nat(2), every: fc.integer({ min: 1, max: 8 }) }), {
          minLength: 1,
          maxLength: 20,
        }),
        (reports) => {
          const fleet = new FleetSeconds(100_000)
          const given = new Map<number, number>()
          const reported = [0, 1, 2].map(() => new Set<number>())
          let now = 100
          for (const { replica, every } of reports) {
            now += every
            // Every process decides once a second, from the start; each has a clock of its own. A report reaches back
            // 60 seconds at most, and its last second is not over.
            const own = now - 100 + 1000 * replica
            const seconds = Math.min(60, now - 100 + 1)
            for (let at = now - seconds + 1; at < now; at++) reported[replica]!.add(at)
            fleet.add(
              { replica: `r${replica}`, recent: recent(...new Array(seconds).fill(1)), second: own, ageMs: 0 },
              now * 1000,
            )
            for (const { at, allowed } of fleet.take(now * 1000)) given.set(at, allowed)
          }
          now += 30
          for (const { at, allowed } of fleet.take(now * 1000)) given.set(at, allowed)
          for (const [at, allowed] of given)
            expect(allowed, `second ${at}`).toBe(reported.filter((seconds) => seconds.has(at)).length)
        },
      ),
    )
  })

  test('are all counted wherever within ours those of a process begin, and whenever it reports', () => {
    const ms = fc.integer({ min: 0, max: 999 })
    fc.assert(
      fc.property(
        ms,
        fc.array(fc.integer({ min: 900, max: 3000 }), { minLength: 30, maxLength: 60 }),
        (ahead, steps) => {
          const fleet = new FleetSeconds(100_000)
          const given = new Map<number, number>()
          let nowMs = 100_000
          for (const step of steps) {
            nowMs += step
            const own = Math.floor((nowMs + ahead) / 1000)
            fleet.add({ replica: 'a', recent: recent(...new Array(60).fill(1)), second: own, ageMs: 0 }, nowMs)
            for (const { at, allowed } of fleet.take(nowMs)) given.set(at, allowed)
          }
          expect([...given.values()].filter((allowed) => allowed !== 1)).toEqual([])
          expect(given.size).toBeGreaterThan(steps.length / 2)
        },
      ),
    )
  })

  test('are all counted, and where they were, also when clocks drift, are suspended, and reports are late', () => {
    const step = fc.record({
      everyMs: fc.integer({ min: 300, max: 4000 }),
      lateMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 2900 })),
    })
    const drift = fc.double({ min: -0.01, max: 0.01, noNaN: true })
    const suspended = fc.constantFrom(0, 5_500, 600_000, 8 * 3_600_000)
    fc.assert(
      fc.property(drift, suspended, fc.array(step, { minLength: 90, maxLength: 140 }), (ahead, suspendedMs, steps) => {
        const fleet = new FleetSeconds(1_000_000)
        const given = new Map<number, number>()
        let nowMs = 1_000_000.4
        // One decision in each second of its clock, which stands still while it is suspended.
        let ownMs = 5_000_700
        const first = Math.floor(ownMs / 1000)
        for (const [i, { everyMs, lateMs }] of steps.entries()) {
          if (i === 30) nowMs += suspendedMs
          nowMs += everyMs
          ownMs += everyMs * (1 + ahead)
          const second = Math.floor(ownMs / 1000)
          const whole = Math.min(60, second - first + 1)
          fleet.add({ replica: 'a', recent: recent(...new Array(whole).fill(1)), second, ageMs: 0 }, nowMs + lateMs)
          nowMs += lateMs
          ownMs += lateMs * (1 + ahead)
          for (const { at, allowed } of fleet.take(nowMs)) given.set(at, allowed)
        }
        // Reports that come at once show everything that was left out because others were late.
        for (let i = 0; i < 5; i++) {
          nowMs += 2000
          ownMs += 2000 * (1 + ahead)
          const second = Math.floor(ownMs / 1000)
          fleet.add({ replica: 'a', recent: recent(...new Array(60).fill(1)), second, ageMs: 0 }, nowMs)
          for (const { at, allowed } of fleet.take(nowMs)) given.set(at, allowed)
        }
        // Of the last minute, the seconds that one clock has more than the other, and those where it moved by two.
        const newest = Math.floor(nowMs / 1000)
        const sum = Array.from({ length: 50 }, (_, i) => given.get(newest - 52 + i) ?? 0).reduce((a, b) => a + b)
        expect(Math.abs(sum - 50)).toBeLessThanOrEqual(8)
        const lately = Array.from({ length: 10 }, (_, i) => given.get(newest - 12 + i) ?? 0).reduce((a, b) => a + b)
        expect(lately).toBeGreaterThanOrEqual(5)
      }),
    )
  })

  test('wait a moment for every process, and are corrected by what comes later', () => {
    const fleet = new FleetSeconds(100_000)
    fleet.add({ replica: 'a', recent: recent(5, 0), second: 101, ageMs: 0 }, 101_000)
    fleet.add({ replica: 'b', recent: recent(0), second: 7, ageMs: 0 }, 101_000)
    expect(fleet.take(101_000)).toEqual([{ at: 100, allowed: 5, denied: 0, degraded: 0 }])
    fleet.add({ replica: 'a', recent: recent(5, 6, 0), second: 102, ageMs: 0 }, 102_000)
    expect(fleet.take(102_000)).toEqual([])
    expect(fleet.take(108_900).map(({ at }) => at)).toEqual([101])
    fleet.add({ replica: 'b', recent: recent(2, ...new Array(8).fill(0)), second: 15, ageMs: 0 }, 109_000)
    expect(fleet.take(109_000)).toContainEqual({ at: 101, allowed: 8, denied: 0, degraded: 0 })
  })

  test('of a process that numbers them wrongly do not count, and are not kept', () => {
    const fleet = new FleetSeconds(100_000)
    fleet.add({ replica: 'a', recent: recent(0), second: 7, ageMs: 0 }, 100_000)
    fleet.add({ replica: 'a', recent: recent(9, 9, 0), second: 7e9, ageMs: 0 }, 101_000)
    fleet.add({ replica: 'a', recent: recent(9, 9, 0), second: -7e9, ageMs: 0 }, 102_000)
    expect(fleet.take(103_000).every(({ allowed }) => allowed === 0)).toBe(true)
  })

  test('in which the process was suspended stay gaps', () => {
    const fleet = new FleetSeconds(100_000)
    fleet.add({ replica: 'a', recent: recent(1, 0), second: 101, ageMs: 0 }, 101_000)
    fleet.take(101_000)
    fleet.add({ replica: 'a', recent: recent(1, 0), second: 1001, ageMs: 0 }, 1_001_000)
    expect(fleet.take(1_001_000).map(({ at }) => at)).toEqual(Array.from({ length: 60 }, (_, i) => 941 + i))
  })
})

describe('an outage', () => {
  test('begins with the first degraded decision and ends when the breaker is closed and none came for a while', () => {
    const outages = new Outages()
    outages.failed('timeout', 'no answer within 500 ms')
    expect(outages.current).toBeUndefined()
    outages.degraded(1000)
    outages.breakerIs('open', 1200)
    outages.degraded(9000)
    expect(outages.current).toEqual({
      sinceMs: 1000,
      failure: 'timeout',
      message: 'no answer within 500 ms',
      decisions: 2,
    })
    expect(outages.ended(60_000)).toBeUndefined()
    outages.breakerIs('closed', 60_000)
    expect(outages.ended(60_000)).toMatchObject({ sinceMs: 1000, untilMs: 9000, decisions: 2 })
    expect(outages.current).toBeUndefined()
  })
})

const totalOf = (rule: string, allowed: number) => ({ rule, allowed, denied: 0, wouldDeny: 0 })
const totals = (replica: string, ...allowed: number[]) =>
  new Map([[replica, allowed.map((each) => totalOf('r', each))]])

test('the history of a rule counts growth, and neither what was before nor a restart', () => {
  const history = new RuleHistory()
  history.add(totals('a', 100), 1)
  history.add(totals('a', 110), 1)
  history.add(totals('a', 130), 0)
  history.add(totals('b', 7), 1)
  history.add(totals('b', 9), 1)
  expect(history.of('r').map(([allowed]) => allowed)).toEqual([0, 30, 0, 2])
  expect(history.of('other')).toHaveLength(4)
})

test('steps have every decision of a process once, whatever its reports leave out, and however late they are', () => {
  const history = new RuleHistory()
  const allowed = (rule = 'r') => history.of(rule).map(([each]) => each)
  history.add(new Map([['a', [totalOf('r', 100), totalOf('s', 50)]]]), 1)
  history.add(new Map([['a', [totalOf('r', 110)]]]), 1)
  history.add(new Map([['a', [totalOf('r', 110), totalOf('s', 53)]]]), 1)
  expect(allowed('s'), 'a rule that was left out for a while').toEqual([0, 0, 3])
  history.add(new Map(), 1)
  history.add(totals('a', 117), 1)
  expect(allowed(), 'a report that was late').toEqual([0, 10, 0, 0, 7])
  history.add(totals('a', 118), 3)
  expect(allowed(), 'this process was starved').toEqual([0, 10, 0, 0, 7, 0, 0, 1])
  // It opens a second limiter with the same rule, and closes the first.
  history.add(totals('a', 120, 5), 1)
  history.add(totals('a', 5), 1)
  history.add(totals('a', 9), 1)
  expect(allowed().slice(-3), 'two limiters in one process').toEqual([7, 0, 4])
})

describe('GET /v1/live', () => {
  // Not by `fetch`, which keeps the connection of a stream that it no longer reads: the daemon would wait for it.
  const read = (url: string, headers: Record<string, string>, until: (text: string) => boolean): Promise<string> =>
    new Promise((resolve, reject) => {
      const sent = { authorization: 'Bearer token-of-the-tests', ...headers }
      const request = get(url, { headers: sent }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
          if (!until(text)) return
          request.destroy()
          resolve(text)
        })
      }).on('error', reject)
    })
  const allowedIn = (text: string): number =>
    [...text.matchAll(/^data: (\[.*)$/gm)]
      .flatMap(([, json]) => JSON.parse(json!) as { kind: string; allowed: number }[])
      .reduce((sum, entry) => sum + (entry.kind === 'second' ? entry.allowed : 0), 0)

  test('resumes by the id of the last message without losing or doubling a decision', async () => {
    const daemon = await startDaemon()
    const url = `${daemon.url}/v1/live`
    const decide = (n: number) =>
      Promise.all(
        Array.from({ length: n }, () =>
          send(`${daemon.url}/v1/check`, 'POST', { key: `k${Math.random()}`, rule: 'per-user' }),
        ),
      )
    await decide(3)
    const first = await read(url, {}, (text) => allowedIn(text) >= 3)
    expect(first).toContain('"resumed":false')
    const id = [...first.matchAll(/^id: (.*)$/gm)].at(-1)![1]!
    await decide(4)
    await waitFor(async () => allowedIn(await read(url, {}, (text) => text.includes('event: entries'))) === 7)
    for (const again of [{ 'last-event-id': id }, {}]) {
      const text = await read(
        'last-event-id' in again ? url : `${url}?after=${id}`,
        again,
        (each) => allowedIn(each) >= 4,
      )
      expect(text).toContain('"resumed":true')
      expect(allowedIn(text)).toBe(4)
    }
    await daemon.close()
  })

  test('cuts off a reader that does not read, which then resumes by its id', async () => {
    const log = new LiveLog('e1')
    const app = new Hono<NodeEnv>()
    let watching = 0
    const live = {
      log,
      isFull: false,
      watch: () => {
        watching++
        return () => watching--
      },
    }
    liveRoute(
      { read: app } as never,
      {
        live,
        limiter: { policy: { service: 's' } },
        reports: { replica: 'r' },
        page: { holdStream: () => () => {} },
        startedAt: new Date(0),
        isDraining: () => false,
      } as never,
    )
    const slow = await app.request('/v1/live', {}, { incoming: {} })
    for (let at = 1; at <= 200; at++) log.append([second(at, 1)], at * 1000)
    expect(watching).toBe(0)
    const text = await slow.text()
    const id = [...text.matchAll(/^id: (.*)$/gm)].at(-1)![1]!
    const rest = log.since(id)
    expect(rest.resumed).toBe(true)
    expect(allowedIn(text) + rest.entries.length).toBe(200)
  })
})
