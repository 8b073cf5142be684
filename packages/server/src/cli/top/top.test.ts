import { describe, expect, it } from 'vitest'
import { styleFor } from '../terminal/style.ts'
import { widthOf } from '../terminal/text.ts'
import { frame } from './frame.ts'
import { partText, pipelineListing, pipelinesOf, type Replica, upstreamListing, upstreamsOf } from './reported-parts.ts'
import { type Snapshot, viewOf } from './snapshot.ts'

const snapshot = (
  atMs: number,
  allowed: number,
  used: Record<string, number>,
  denied: Record<string, number> = {},
): Snapshot => ({
  ...{ atMs, service: 'shop', policyVersion: '1', store: 'memory', replicas: 3, allowed, denied: 0, degraded: 0 },
  perSecond: { allowed: 30, denied: 0, degraded: 0 },
  used: Object.entries(used).map(([key, count]) => ({ key, count, error: 0 })),
  deniedKeys: Object.entries(denied).map(([key, count]) => ({ key, count, error: 0 })),
  upstreams: [],
  pipelines: [],
  overdueMs: [],
})
const replica = (parts: Replica['parts'], ageMs = 0): Replica => ({ host: 'web-1', pid: 7, ageMs, parts })
const every = (): boolean => true
const state = {
  address: 'http://127.0.0.1:8440',
  clock: '12:00:00',
  paused: false,
  sort: 'used',
  trouble: undefined,
} as const

describe('what top shows', () => {
  it('is the rate between two looks, the fastest key first', () => {
    const before = snapshot(0, 100, { 'shop/r/a': 90, 'shop/r/b': 10 })
    const now = snapshot(2000, 160, { 'shop/r/a': 100, 'shop/r/b': 60 })
    const view = viewOf(now, before, undefined, every)
    expect(view.allowedPerSecond).toBe(30)
    expect(view.hottest).toEqual([
      { key: 'shop/r/b', count: 60, error: 0, perSecond: 25 },
      { key: 'shop/r/a', count: 100, error: 0, perSecond: 5 },
    ])
  })

  it('does not jump when the daemon forgets its oldest minute, nor when a process ends', () => {
    const [first, second, third] = [
      snapshot(0, 0, { a: 0 }),
      snapshot(1000, 50, { a: 50 }),
      snapshot(2000, 10, { a: 10 }),
    ]
    const shown = viewOf(second, first, undefined, every)
    const after = viewOf(third, second, shown, every)
    expect(after.hottest[0]?.perSecond).toBe(50)
  })

  it('never shows as a fact what only took over the count of another key', () => {
    const look = (atMs: number, count: number, error: number): Snapshot => ({
      ...snapshot(atMs, 0, {}),
      used: [
        { key: 'shop/r/new', count, error },
        { key: 'shop/r/noise', count: 1000, error: 990 },
      ],
    })
    const view = viewOf(look(2000, 1000, 400), look(0, 500, 400), undefined, every)
    expect(view.hottest).toEqual([{ key: 'shop/r/new', count: 1000, error: 400, perSecond: 250 }])
    expect(frame(view, state, { columns: 100, rows: 12 }, styleFor(false)).join('\n')).toContain('≤1,000')
  })

  it('says which processes have not been heard of for longer than they report', () => {
    const text = (overdueMs: readonly number[]) => {
      const view = viewOf({ ...snapshot(1000, 0, {}), overdueMs }, undefined, undefined, every)
      return frame(view, state, { columns: 140, rows: 12 }, styleFor(false))[0]
    }
    expect(text([])).toContain('3 processes  store')
    expect(text([6400])).toContain('3 processes, 1 last seen 6.4 s ago')
    expect(text([6400, 9000, 7000])).toContain('3 processes, last seen 9 s ago')
  })

  it.each([
    [110, 30],
    [80, 24],
    [50, 10],
  ])('fits %i columns and %i rows, whatever keys are called', (columns, rows) => {
    const keys = Object.fromEntries(
      Array.from({ length: 40 }, (_, k) => [`shop/rule/${'long-'.repeat(30)}${k}\u001b[2J`, k]),
    )
    const view = viewOf(snapshot(1000, 9, keys, keys), snapshot(0, 0, {}), undefined, every)
    const lines = frame(view, state, { columns, rows }, styleFor(false))
    expect(lines).toHaveLength(rows)
    for (const line of lines) expect(widthOf(line), line).toBeLessThanOrEqual(columns)
    expect(lines.join('')).not.toContain('\u001b')
  })

  const egress = (name: string, changes: object = {}): object => ({
    ...{ name, waiting: 7, inFlight: 2, pausedMs: 0, ratePerSecond: 12.5, degraded: false },
    ...{ waitMs: { p50: 1, p99: 900, max: 1000 }, refused: { 'queue-full': 1, 'wait-too-long': 2 } },
    ...{ limits: [{ name: 'requests', used: 20, amount: 25, periodMs: 1000 }] },
    ...changes,
  })

  it('adds up the upstreams of all processes, and says which are paused', () => {
    const of = (kind: string, stats: unknown) => ({ kind, name: '', stats })
    const upstreams = upstreamsOf([
      replica([of('egress', [egress('vendor'), egress('idle', { waiting: 0 })])]),
      replica([of('egress', [egress('vendor', { pausedMs: 3500, degraded: true })])], 500),
      replica([of('egress', [{ name: 'of another version' }, null]), of('cache', 1)]),
    ])
    expect(upstreams.map(({ name }) => name)).toEqual(['vendor', 'idle'])
    const counted = { grantsPerSecond: 25, waiting: 14, inFlight: 4, refused: 6, waitP99Ms: 900 }
    expect(upstreams[0]).toMatchObject({ ...counted, pausedMs: 3000, degraded: 1 })
    const view = viewOf({ ...snapshot(1000, 0, {}), upstreams }, undefined, undefined, every)
    const lines = frame(view, state, { columns: 120, rows: 24 }, styleFor(false))
    expect(lines.find((line) => line.includes('vendor'))).toMatch(
      /25 +14 +900 ms +4 +6 +paused for 3 s, 1 without Redis/,
    )
    expect(partText(upstreamListing, upstreams[0]!)).toBe(
      'vendor: 25 grants/s, 14 waiting, paused for 3 s, 1 without Redis',
    )
    for (const columns of [50, 80, 110]) {
      const small = frame(view, state, { columns, rows: 12 }, styleFor(false))
      expect(small).toHaveLength(12)
      for (const line of small) expect(widthOf(line), line).toBeLessThanOrEqual(columns)
    }
  })

  it('adds up the pipelines of all workers, and says who owns which partition', () => {
    const of = (stats: unknown) => replica([{ kind: 'pipeline', name: 'prices', stats }])
    const owned = (...names: string[]) => names.map((partition) => ({ partition, lag: 10 }))
    const pipelines = pipelinesOf([
      of({ perSecond: 100, rejected: 1, partitions: owned('prices/0', 'prices/1') }),
      of({ perSecond: 50, rejected: 2, partitions: [{ partition: 'prices/2', error: 'write: no table' }] }),
      of({ of: 'another version' }),
    ])
    expect(pipelines).toMatchObject([{ name: 'prices', perSecond: 150, lag: 20, rejected: 3, failing: 1 }])
    const view = viewOf({ ...snapshot(1000, 0, {}), pipelines }, undefined, undefined, every)
    for (const columns of [50, 80, 140]) {
      const lines = frame(view, state, { columns, rows: 12 }, styleFor(false))
      expect(lines).toHaveLength(12)
      for (const line of lines) expect(widthOf(line), line).toBeLessThanOrEqual(columns)
    }
    expect(partText(pipelineListing, pipelines[0]!)).toBe(
      'prices: 150/s, lag 20, 1 failing, 3 rejected, web-1:7 has prices/0 prices/1, web-1:7 has prices/2',
    )
  })

  it('says why its figures are old', () => {
    const lines = frame(
      undefined,
      { ...state, trouble: 'no daemon at http://127.0.0.1:8440' },
      { columns: 80, rows: 10 },
      styleFor(false),
    )
    expect(lines.at(-1)).toBe('no daemon at http://127.0.0.1:8440')
  })
})
