import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { outcomeOf } from './action-words.ts'
import { type PartRow, type Replica, rowsOf } from './rows.ts'
import { forgetMs, SeenParts } from './seen-parts.ts'

type Part = Replica['parts'][number]
const replica = (parts: readonly Omit<Part, 'actions'>[], ageMs = 0, actions: Part['actions'] = []): Replica => ({
  replica: 'r1',
  host: 'web-1',
  pid: 7,
  ageMs,
  parts: parts.map((part) => ({ ...part, actions })),
  omitted: [],
  results: [],
})
const one = (kind: string, stats: unknown, name = 'x'): PartRow => rowsOf([replica([{ kind, name, stats }])])[0]!

describe('a row shows what matters', () => {
  test.each([
    [
      'egress',
      {
        name: 'vendor',
        depth: 12,
        waitMs: { p99: 2300 },
        inFlight: 3,
        ratePerSecond: 24.5,
        limits: [{ used: 20, amount: 25 }],
      },
      'granting',
      ['12', '2.3 s', '3', '24.5/s', '80%'],
    ],
    ['egress', { name: 'vendor', pausedMs: 4000 }, 'paused, 4 s left', undefined],
    ['egress', { depth: 3, limits: [{ used: 25, amount: 25 }] }, 'limit used up, 3 waiting', undefined],
    ['egress', { name: 'vendor', degraded: true }, 'shared state away', undefined],
    [
      'cache',
      { hits: { memory: 70, redis: 20 }, misses: 10, memory: { entries: 12, bytes: 2_500_000 }, redis: 'up' },
      'with Redis',
      ['90%', '12', '2.5 MB', '0'],
    ],
    ['cache', { hits: {}, misses: 0, redis: 'down' }, 'Redis away, in process only', ['–', '0', '0 B', '0']],
    [
      'breaker',
      { key: 'model-a', state: 'open', retryAfterMs: 3000, succeeded: 5, failed: 5, rejected: 9 },
      'open, tries again in 3 s',
      ['50%', '9', '0'],
    ],
    [
      'capacity',
      {
        ready: true,
        admitShare: 0.5,
        load: { percent: 91, cause: 'event loop delay 84 ms' },
        shed: { low: 4, bulk: 2 },
      },
      'shedding: event loop delay 84 ms',
      ['91%', '50%', '0', '6'],
    ],
    [
      'shipper',
      {
        isOwner: true,
        pending: 1200,
        oldestAgeMs: 65_000,
        inPerSecond: 10,
        outPerSecond: 4,
        bytesOnDisk: 500,
        timeToFullMs: 600_000,
      },
      'full in 10 min',
      ['1,200', '1 min', '10 → 4/s', '500 B'],
    ],
    [
      'shipper',
      { isOwner: true, breaker: 'closed', consecutiveFailures: 5, backoffLevel: 5, nextAttemptInMs: 7000 },
      '5 attempts failed, next in 7 s',
      undefined,
    ],
    [
      'shipper',
      { isOwner: true, backoffLevel: 1, nextAttemptInMs: 2000 },
      'waits for the server, next in 2 s',
      undefined,
    ],
    ['shipper', { isFull: true }, 'full, refuses events', undefined],
    ['shipper', { lost: 2, dropped: 1 }, '3 lost or dropped', undefined],
    [
      'pipeline',
      {
        ...{ state: 'running', perSecond: 1200, written: 5000, rejected: 2 },
        partitions: [
          { partition: 'prices/0', lag: 10 },
          { partition: 'prices/3', lag: 5 },
        ],
      },
      'running',
      ['1,200/s', '15', '2', '5,000', 'prices/0, prices/3'],
    ],
    ['pipeline', { partitions: [{ error: 'write: no such table' }] }, 'tries again: write: no such table', undefined],
    ['own', { jobs: 4, name: 'n' }, 'reports', ['jobs 4']],
  ])('%s %j', (kind, stats, state, cells) => {
    const row = one(kind, stats)
    expect(row.state.text).toBe(state)
    if (cells) expect(row.cells).toEqual(cells)
  })

  test('of each breaker and upstream of a list, and not of the limiter', () => {
    const rows = rowsOf([
      replica([
        { kind: 'breaker', name: 'models', stats: [{ key: 'a' }, { key: 'b' }] },
        { kind: 'limiter', name: '', stats: {} },
      ]),
    ])
    expect(rows.map(({ name }) => name)).toEqual(['models / a', 'models / b'])
    expect(new Set(rows.map(({ id }) => id)).size).toBe(2)
  })

  test.each([null, 7, 'text', [], [null], { hits: null, memory: 'x' }, { limits: 'x', waitMs: 4 }])(
    'whatever a report holds: %j',
    (stats) => {
      for (const kind of ['egress', 'cache', 'breaker', 'capacity', 'shipper', 'pipeline', 'x'])
        expect(() => rowsOf([replica([{ kind, name: 'x', stats }])])).not.toThrow()
    },
  )
})

describe('what was seen', () => {
  const cacheRow = (hits: number, misses: number): PartRow[] => [
    ...rowsOf([replica([{ kind: 'cache', name: 'c', stats: { hits: { memory: hits }, misses } }])]),
  ]

  test('stays for a while after its process stopped reporting, and is then removed', () => {
    const seen = new SeenParts()
    seen.update(cacheRow(1, 1), 0)
    expect(seen.rows(5000)).toMatchObject([{ isStale: false, seenMsAgo: 5000 }])
    expect(seen.rows(20_000)).toMatchObject([{ isStale: true }])
    seen.update([], forgetMs + 1)
    expect(seen.rows(forgetMs + 1)).toEqual([])
  })

  test('gives the share of the last minute, not of all time', () => {
    const seen = new SeenParts()
    seen.update(cacheRow(0, 1000), 0)
    seen.update(cacheRow(90, 1010), 30_000)
    expect(seen.rows(30_000)[0]!.recentShare).toBeCloseTo(0.9)
    // A process that restarted counts from zero.
    seen.update(cacheRow(1, 1), 32_000)
    expect(seen.rows(32_000)[0]!.recentShare).toBeUndefined()
  })
})

test('parts with the same name in one process have a row each, with figures of their own', () => {
  const seen = new SeenParts()
  const look = (first: number, second: number, atMs: number): void => {
    const parts = [first, second].map((hits) => ({
      kind: 'cache',
      name: '',
      stats: { hits: { memory: hits }, misses: 100 },
    }))
    seen.update(rowsOf([replica(parts)]), atMs)
  }
  look(0, 1000, 0)
  look(100, 1300, 2000)
  expect(seen.rows(2000).map(({ recentShare, cells }) => [recentShare, cells[0]])).toEqual([
    [1, '50%'],
    [1, '93%'],
  ])
})

describe('what goes on', () => {
  const row = (fetchErrors: number, hits: number): PartRow[] => [
    ...rowsOf([replica([{ kind: 'cache', name: 'c', stats: { fetchErrors, hits: { memory: hits }, misses: hits } }])]),
  ]

  test('is to be looked at while errors are counted, and well when none came for a minute', () => {
    const seen = new SeenParts()
    seen.update(row(453, 0), 0)
    expect(seen.rows(0)[0]).toMatchObject({ state: { kind: 'good' }, isKnown: false })
    seen.update(row(460, 10), 2000)
    expect(seen.rows(2000)[0]).toMatchObject({
      state: { kind: 'warn', text: '7 fetch errors in the last minute' },
      isKnown: true,
      course: [undefined, 0.5],
    })
    // The part was made anew, and counts from zero.
    seen.update(row(2, 1), 3000)
    expect(seen.rows(3000)[0]).toMatchObject({ state: { kind: 'warn', text: '2 fetch errors in the last minute' } })
    seen.update(row(460, 10), 3500)
    for (let atMs = 4000; atMs <= 70_000; atMs += 2000) seen.update(row(460, 10), atMs)
    expect(seen.rows(70_000)[0]).toMatchObject({ state: { kind: 'good' }, isKnown: true })
    expect(seen.rows(70_000)[0]!.course.length).toBeLessThanOrEqual(60)
  })
})

describe('actions', () => {
  test('are offered for the part, or for one breaker of a set, where they would change something', () => {
    const stats = [{ key: 'a', state: 'closed' }, { key: 'b', state: 'open', isolated: true }, { key: 7 }]
    const breakers = rowsOf([replica([{ kind: 'breaker', name: 'models', stats }], 0, ['open', 'close'])])
    expect(breakers.map(({ offers, target }) => [target.item, offers])).toEqual([
      ['a', ['open']],
      ['b', ['close']],
      ['', []],
    ])
    const [shipper] = rowsOf([replica([{ kind: 'shipper', name: 'events', stats: {} }], 0, ['flush'])])
    expect(shipper).toMatchObject({ offers: ['flush'], target: { kind: 'shipper', name: 'events' } })
  })

  test.each([
    [undefined, 1000, 'info', 'ordered, the process takes it with its next report', false],
    [undefined, 20_000, 'warn', 'the process has not said', false],
    [{ state: 'running', text: '' }, 0, 'info', 'the process is doing it', false],
    [{ state: 'done', text: '' }, 0, 'good', 'Flush x: done.', true],
    [{ state: 'done', text: 'drained' }, 0, 'good', 'Flush x: drained.', true],
    [{ state: 'failed', text: 'SLUICE_CLOSED' }, 0, 'bad', 'failed, SLUICE_CLOSED', true],
  ] as const)('%j after %d ms is said as %s: %s', (result, nowMs, kind, text, isFinal) => {
    const found = { ...replica([]), results: result === undefined ? [] : [{ id: '1', ...result }] }
    const outcome = outcomeOf({ id: '1', replica: 'r1', title: 'Flush x', atMs: 0 }, [found], nowMs)
    expect(outcome).toEqual({ done: { kind, text: expect.stringContaining(text) }, isFinal })
  })
})

describe('a report of an attacker', () => {
  const json = fc.oneof(fc.jsonValue(), fc.constantFrom(null, { toString: 1 }, [null], '<img src=x onerror=alert(1)>'))
  const names = ['name', 'key', 'producer', 'limits', 'waitMs', 'hits', 'memory', 'load', 'shed', 'pending', 'pausedMs']
  const stats = fc.oneof(
    json,
    fc.dictionary(fc.constantFrom(...names), json),
    fc.array(fc.dictionary(fc.constantFrom(...names), json)),
  )
  const kind = fc.constantFrom(
    'egress',
    'cache',
    'breaker',
    'capacity',
    'shipper',
    'pipeline',
    'constructor',
    '__proto__',
  )

  test('becomes rows of texts, whatever it contains', () => {
    fc.assert(
      fc.property(kind, stats, (each, given) => {
        for (const row of rowsOf([replica([{ kind: each, name: '', stats: given }])]))
          for (const text of [row.name, row.state.text, ...row.cells]) expect(typeof text).toBe('string')
      }),
      { numRuns: 500 },
    )
  })
})
