import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { type Answer, breakerOf, delayOf, next, defaultBackoff as rules, waitMs } from './next.ts'
import { type FlushState, freshState, unknownCapacity } from './state.ts'

const now = 1_800_000_000_000
const at = (backoffLevel: number, more: Partial<FlushState> = {}): FlushState => ({
  ...freshState,
  backoffLevel,
  ...more,
})
const step = (state: FlushState, answer: Answer, random = 0) => next(state, answer, now, rules, random)
const seconds = (state: FlushState) => ((state.nextAttemptAfter ?? now) - now) / 1000

test('delays by level are 0, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300 s', () => {
  const delays = Array.from({ length: 11 }, (_, level) => delayOf(level, rules) / 1000)
  expect(delays).toEqual([0, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
})

test('base, factor, cap and highest level are options', () => {
  const own = { ...rules, baseMs: 100, factor: 3, maxMs: 1000, maxLevel: 3 }
  expect([0, 1, 2, 3].map((level) => delayOf(level, own))).toEqual([0, 300, 900, 1000])
  expect(next(at(3), { kind: 'failure' }, now, own, 0).backoffLevel).toBe(3)
})

describe('the transition table of the protocol', () => {
  const rows: [string, FlushState, Answer, Partial<Record<'level' | 'failures' | 'wait', number>>][] = [
    ['a failure raises the level', at(0), { kind: 'failure' }, { level: 1, failures: 1, wait: 2 }],
    ['and again', at(3, { consecutiveFailures: 3 }), { kind: 'failure' }, { level: 4, failures: 4, wait: 16 }],
    ['up to 10', at(10, { consecutiveFailures: 30 }), { kind: 'failure' }, { level: 10, failures: 31, wait: 300 }],
    ['429 and 503 wait twice as long', at(1), overloaded(), { level: 2, failures: 1, wait: 8 }],
    ['the doubled delay is capped', at(8), overloaded(), { level: 9, failures: 1, wait: 300 }],
    ['Retry-After counts when it is longer', at(0), overloaded(60), { level: 1, failures: 1, wait: 60 }],
    ['and not when it is shorter', at(5), overloaded(1), { level: 6, failures: 1, wait: 128 }],
    ['Retry-After is not capped at 300 s', at(0), overloaded(900), { level: 1, failures: 1, wait: 900 }],
    ['success lowers the level by one', at(4, failing), { kind: 'success' }, { level: 3, failures: 0, wait: 0 }],
    ['not below 0', at(0), { kind: 'success' }, { level: 0, failures: 0, wait: 0 }],
    ['not ready changes only the timer', at(3, failing), notReady(45), { level: 3, failures: 7, wait: 45 }],
    ['not ready without a time waits 30 s', at(0), notReady(), { level: 0, failures: 0, wait: 30 }],
  ]
  it.each(rows)('%s', (_, state, answer, expected) => {
    const after = step(state, answer)
    expect({ level: after.backoffLevel, failures: after.consecutiveFailures, wait: seconds(after) }).toEqual(expected)
  })
})

const failing = { consecutiveFailures: 7, nextAttemptAfter: now }
function overloaded(retryAfter?: number): Answer {
  return { kind: 'overloaded', retryAfterMs: retryAfter === undefined ? undefined : retryAfter * 1000 }
}
function notReady(retryAfter?: number): Answer {
  const capacity = { ...unknownCapacity, ready: false }
  return { kind: 'not-ready', capacity, retryAfterMs: retryAfter === undefined ? undefined : retryAfter * 1000 }
}

test('jitter is added after the cap, so that even the longest delays differ', () => {
  const jittered = { ...rules, jitter: 0.5 }
  const waits = [0, 0.5, 1].map((random) => seconds(next(at(10), { kind: 'failure' }, now, jittered, random)))
  expect(waits).toEqual([300, 375, 450])
})

test('after 10 failures in a row the breaker is open until the timer expires', () => {
  let state: FlushState = freshState
  for (let failures = 1; failures <= 10; failures++) {
    expect(breakerOf(state, now, rules)).toBe('closed')
    state = step(state, { kind: 'failure' })
  }
  expect(breakerOf(state, now, rules)).toBe('open')
  expect(breakerOf(state, now + 300_000, rules)).toBe('half-open')
  expect(breakerOf(step(state, { kind: 'success' }), now, rules)).toBe('closed')
})

test('a clock that was set back does not keep the shipper waiting for days', () => {
  const state = at(1, { nextAttemptAfter: now + 2000 })
  expect(waitMs(state, now, rules)).toBe(2000)
  expect(waitMs(state, now - 86_400_000, rules)).toBe(0)
})

test('whatever answers come, the level, the failures and the wait stay within their bounds', () => {
  const answers = fc.oneof<fc.Arbitrary<Answer>[]>(
    fc.constant({ kind: 'failure' }),
    fc.constant({ kind: 'success' }),
    fc.constant({ kind: 'ready', capacity: unknownCapacity }),
    fc.option(fc.nat(10_000), { nil: undefined }).map((after) => overloaded(after)),
    fc.option(fc.nat(10_000), { nil: undefined }).map((after) => notReady(after)),
  )
  fc.assert(
    fc.property(fc.array(answers, { maxLength: 60 }), (history) => {
      let state: FlushState = freshState
      let [level, failures] = [0, 0]
      for (const answer of history) {
        state = step(state, answer)
        // The model: a direct transcription of the table.
        if (answer.kind === 'success') [level, failures] = [Math.max(0, level - 1), 0]
        if (answer.kind === 'failure' || answer.kind === 'overloaded')
          [level, failures] = [Math.min(10, level + 1), failures + 1]
        expect([state.backoffLevel, state.consecutiveFailures]).toEqual([level, failures])
        expect(waitMs(state, now, rules)).toBeLessThanOrEqual(3_600_000)
        if (answer.kind === 'success') expect(waitMs(state, now, rules)).toBe(0)
        if (answer.kind === 'failure') expect(waitMs(state, now, rules)).toBe(delayOf(level, rules))
      }
    }),
  )
})

test('shippers that fail together do not retry together, and none before the server asked for', () => {
  const chances = Array.from({ length: 100 }, (_, i) => i / 100)
  for (const answer of [{ kind: 'failure' } as const, overloaded(), overloaded(900), notReady(45), notReady()]) {
    const waits = chances.map((chance) => seconds(step(at(4), answer, chance)))
    expect(new Set(waits).size).toBe(100)
    expect(Math.min(...waits)).toBe(seconds(step(at(4), answer, 0)))
  }
  const beyond = chances.map((chance) => seconds(step(at(4), overloaded(1e9), chance)))
  expect(new Set(beyond).size).toBe(100)
  expect(Math.max(...beyond)).toBe(3600)
})

test('refusals in a row are kept until the server accepts something, and are not in the file without any', () => {
  const refused = step(at(0), { kind: 'refused', inRow: 7 })
  expect(step(refused, { kind: 'success' }).consecutiveRefusals).toBe(7)
  expect(step(refused, { kind: 'failure' }).consecutiveRefusals).toBe(7)
  expect(step(refused, notReady(1)).consecutiveRefusals).toBe(7)
  expect(JSON.parse(JSON.stringify(step(refused, { kind: 'refused', inRow: 0 })))).not.toHaveProperty(
    'consecutiveRefusals',
  )
})

test('a level above the highest counts as the highest', () => {
  expect(step(at(1000), { kind: 'success' }).backoffLevel).toBe(9)
})
