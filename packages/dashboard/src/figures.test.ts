import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pathOf } from './components/sparkline.tsx'
import { keyParts } from './format/key.ts'
import { formatNumber, formatRate, formatShare, formatSteady } from './format/number.ts'
import { formatAgo, formatDuration, formatPeriod } from './format/time.ts'
import { linkTo, parseRoute } from './hooks/router.ts'
import { type Happening, noTimeline, type Second, withEntries, withHello } from './live/entries.ts'
import { marksOf } from './pages/overview/chart-marks.ts'
import { nowOf } from './pages/overview/now.ts'
import { stacked } from './pages/overview/stacked.ts'
import { shareWords } from './pages/overview/tiles.tsx'
import { timeLabels } from './pages/overview/time-labels.ts'
import { reasonWords } from './pages/rules/denials.tsx'
import { outstanding } from './pages/rules/hot-keys.tsx'
import { limitWords, sortedRules } from './pages/rules/rule-figures.ts'

const second = (at: number, allowed: number, denied = 0, degraded = 0): Second => ({
  ...{ kind: 'second', at, allowed, denied, degraded, p50Ms: 0.1, p99Ms: 1, replicas: 1 },
})

describe('numbers', () => {
  test.each([
    [0, '0'],
    [0.12345, '0.123'],
    [4.4, '4.4'],
    [1034, '1,034'],
    [12_345, '12.3k'],
    [4_560_000, '4.56M'],
    [999.6, '1,000'],
    [999_949, '1M'],
    [999_499, '999k'],
    [999_999_999, '1G'],
    [1.2e15, '1200T'],
    [null, '–'],
    [Number.POSITIVE_INFINITY, '–'],
  ])('%s is written %s', (value, text) => expect(formatNumber(value)).toBe(text))

  test('shares show 0% and 100% only when they are exact', () => {
    expect([0, 0.0001, 0.044, 0.0996, 0.5, 0.985, 0.9951, 0.9999, 1, 1.3].map(formatShare)).toEqual([
      ...['0%', '<0.1%', '4.4%', '10%', '50%', '99%', '99.5%', '>99.9%', '100%', '130%'],
    ])
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (share) => {
        const text = formatShare(share)
        expect(text === '0%').toBe(share * 100 === 0)
        expect(text === '100%').toBe(share * 100 === 100)
      }),
    )
  })

  test('rates are in the unit that is easy to read, and changing figures keep their number of digits', () => {
    expect([11.4, 1.84, 0.33, 0.02, 0].map(formatRate)).toEqual(['11.4/s', '1.8/s', '19.8/min', '1.2/min', '0/s'])
    expect([0, 0.01, 7, 70, 70.52, 1034.4].map(formatSteady)).toEqual(['0', '<0.1', '7.0', '70.0', '70.5', '1,034'])
  })

  test('lengths of time are in their largest unit', () => {
    expect([0, 0.4, 66, 400, 3800, 52_000, 360_000, 7.2e6, 2e8, Number.POSITIVE_INFINITY].map(formatDuration)).toEqual([
      ...['0 s', '0.4 ms', '66 ms', '0.4 s', '3.8 s', '52 s', '6 min', '2 h', '2 d', 'never'],
    ])
    expect([99.6, 9960, 59_960, 3_597_600, 86_364_000].map(formatDuration)).toEqual([
      ...['0.1 s', '10 s', '59 s', '59 min', '23 h'],
    ])
    expect([500, 6 * 60_000].map(formatAgo)).toEqual(['just now', '6 min ago'])
  })
})

test('periods are exact', () => {
  expect([1000, 60_000, 90_000, 900_000, 5_400_000, 129_600_000, 604_800_000, 1500].map(formatPeriod)).toEqual([
    ...['second', 'minute', '90 s', '15 min', '90 min', '36 h', '7 d', '1500 ms'],
  ])
})

describe('addresses', () => {
  test.each([
    [['rules', 'per-user'], { sort: 'denied' }],
    [['keys', 'a/b?c#d&e=f'], { key: '<img src=x>', empty: '' }],
    [[], {}],
  ])('%j restores the view', (path, query) => {
    const found = parseRoute(linkTo(path, query))
    expect(found.path).toEqual(path)
    expect(found.query).toEqual(Object.fromEntries(Object.entries(query).filter(([, value]) => value !== '')))
  })

  test('that are malformed are kept unchanged', () => expect(parseRoute('#/%zz').path).toEqual(['%zz']))
})

describe('the timeline', () => {
  test('keeps 15 minutes, and the latest entry of each second', () => {
    const many = Array.from({ length: 1000 }, (_, i) => second(i + 1, 1))
    const { seconds } = withEntries(withEntries(noTimeline, many), [second(1000, 5)])
    expect([seconds.size, seconds.get(1000)?.allowed, seconds.has(100)]).toEqual([900, 5, false])
  })

  test('has gaps that stay gaps in the chart', () => {
    const timeline = withEntries(noTimeline, [second(1000, 10), second(1010, 10, 5)])
    const [times, all, allowed] = stacked(timeline, 1)
    expect(times).toHaveLength(60)
    expect(all.filter((value) => value !== null)).toHaveLength(2)
    expect([all.at(-1), allowed!.at(-1)]).toEqual([15, 10])
  })

  test('has the share denied, and nothing where there were no requests', () => {
    expect(nowOf(noTimeline)).toBeUndefined()
    expect(shareWords(nowOf(withEntries(noTimeline, [second(5, 0)])))).toBe('no requests')
    expect(shareWords(nowOf(withEntries(noTimeline, [second(5, 3, 1)])))).toBe('25% of requests')
  })

  test('recognises a restart, and doubles nothing when everything is sent again', () => {
    const hello = { epoch: 'a', replica: 'r', service: 's', resumed: false, startedAt: 0 }
    const policy: Happening = { kind: 'policy', at: 50, version: 'v', source: 'f', changes: null }
    const known = withEntries(noTimeline, [second(60, 1), policy])
    expect(withHello(known, hello, hello, 0).happenings).toEqual([])
    expect(withHello(known, hello, { ...hello, resumed: true }, 0)).toBe(known)
    const restarted = withHello(known, hello, { ...hello, epoch: 'b', startedAt: 70_000 }, 71_000)
    expect(restarted.happenings).toEqual([policy, { kind: 'restarted', at: 70 }])
    expect(restarted.seconds.size).toBe(1)
    const other = withHello(known, hello, { ...hello, epoch: 'c', startedAt: 10_000 }, 71_000)
    expect(other.happenings).toEqual([{ kind: 'another-replica', at: 71 }])
  })

  test('marks an outage once, with its length when it is over', () => {
    const began: Happening = { kind: 'degraded', at: 10, failure: 'timeout', message: '' }
    const over: Happening = { kind: 'exact-again', at: 62, since: 10, decisions: 5 }
    expect(marksOf([], 0)).toEqual([{ at: 0, text: expect.stringMatching(/^started \d\d:\d\d$/) }])
    expect(marksOf([began])).toEqual([{ at: 10, text: 'store away' }])
    expect(marksOf([began, over])).toEqual([{ at: 10, text: 'store away, 52 s' }])
  })
})

test('keys are shown unchanged, except characters that could mislead', () => {
  expect(keyParts('s/r/%003cimg%0020src=x>/a%002fb')).toBe('<img src=x> / a/b')
  expect(keyParts('s/r/a%202eb%000a')).toBe('a%202eb%000a')
  expect(keyParts('s/r/%0020')).toBe('%0020')
  expect(keyParts('s/r/a%0020b/%0020a%0020b')).toBe('a b / %0020a%0020b')
  expect(keyParts('s/r/a%0020%0020b')).toBe('a%0020%0020b')
})

test('a label of the chart that would be cut off at its edge is left out', () => {
  const minute = 60 * 1e6
  const scale = { max: minute + 90, perSecond: 10, margin: 4 }
  expect(timeLabels([minute, minute + 60, minute + 89], 60, scale).map(({ length }) => length)).toEqual([5, 5, 0])
  expect(timeLabels([minute + 86, minute + 88], 2, scale).map(({ length }) => length)).toEqual([8, 0])
})

test('a sparkline leaves gaps out', () => {
  expect(pathOf([0, undefined, 2, 4], 3, 10)).toBe('M0.0,9.0M2.0,5.0L3.0,1.0')
})

test('limits are shown in a few characters', () => {
  const limit = { name: 'x', algorithm: 'sliding-window', amount: 1000, periodMs: 60_000 }
  expect(limitWords(limit)).toBe('1,000/min')
  expect(limitWords({ ...limit, periodMs: 5000 })).toBe('1,000 per 5 s')
  expect(limitWords({ ...limit, algorithm: 'concurrency', amount: 3 })).toBe('3 at once')
})

test('rules that are equal stay in the order of the policy', () => {
  const rule = (name: string, denied: number) => ({
    ...{ name, mode: 'enforce' as const, byTier: false, limits: [], allowed: 0, denied, hottestKey: null },
    ...{
      shadow: { allowed: 0, denied: 0 },
      mostDeniedKey: null,
      keysAlike: { hottest: false, mostDenied: false },
      history: [[1, denied, 0]] as const,
    },
  })
  const rules = [rule('a', 0), rule('b', 5), rule('c', 0)]
  expect(sortedRules(rules, 'denied').map(({ name }) => name)).toEqual(['b', 'a', 'c'])
  expect(sortedRules(rules, 'policy').map(({ name }) => name)).toEqual(['a', 'b', 'c'])
})

test('keys that are listed by chance are not highlighted', () => {
  const counts = (...all: number[]) => all.map((least) => ({ least }))
  expect(outstanding(counts(1, 1, 1, 1, 1, 1))).toEqual({ above: [], tied: 1 })
  expect(outstanding(counts(8, 1, 1, 1, 1, 1, 1))).toEqual({ above: [{ least: 8 }], tied: 1 })
  expect(outstanding(counts(2, 2, 2))).toEqual({ above: counts(2, 2, 2), tied: undefined })
  expect(outstanding([]).above).toEqual([])
})

test.each([
  [{ reason: 'quota', limit: 'rpm', retryAfterMs: 5000, cost: 2 }, 'rpm · cost 2 · passes in 5 s'],
  [{ reason: 'forbidden', limit: null, retryAfterMs: null, cost: 1 }, 'denied by the policy · never passes'],
  [{ reason: 'unavailable', limit: null, retryAfterMs: 0, cost: 1 }, 'store away'],
])('a denial %j is shown as %s', (denial, words) => expect(reasonWords(denial)).toBe(words))
