import { expect, test } from 'vitest'
import { InvalidationView } from './invalidation-view.ts'
import type { LogReply } from './messages.ts'

const at = (ms: number) => ({ monotonicMs: ms, wallMs: ms })
const reply = (given: Partial<LogReply>): LogReply => ({
  generation: 'a',
  sequence: 0,
  isLast: true,
  since: undefined,
  scopeFloor: 0,
  keyFloor: 0,
  changes: [],
  ...given,
})
const entry = { key: 'x', scopes: ['p:', 't:x'], generation: 'a', sequence: 1 }
const newView = () => new InvalidationView({ maxScopes: 10, maxKeys: 10, proofMs: 100 })

test('a log whose generation was left before is not accepted: its server lacks what happened meanwhile', () => {
  const view = newView()
  expect(view.synchronize(reply({ sequence: 1 }), at(1))).toBe(true)
  expect(view.synchronize(reply({ generation: 'b' }), at(2))).toBe(true)
  view.receive({ generation: 'b', sequence: 1, scopes: ['k:x'] })
  expect(view.hasLeft('a')).toBe(true)
  expect(view.synchronize(reply({ sequence: 5 }), at(3))).toBe(false)
  expect(view.generation).toBe('b')
  expect(view.judge(entry)).toBe('invalid')
})

test('an answer that was overtaken, or that continues from where the view is not, is dropped', () => {
  const view = newView()
  view.synchronize(reply({ sequence: 5 }), at(10))
  expect(view.synchronize(reply({ sequence: 9 }), at(9))).toBe(false)
  expect(view.synchronize(reply({ sequence: 9, since: 7 }), at(11))).toBe(false)
  expect(view.sequence).toBe(5)
})

test('a proof ends by the monotonic or the wall clock, whichever is first, and when the wall clock is set', () => {
  const view = newView()
  view.synchronize(reply({}), at(1000))
  expect(view.proven(1099, 1099)).toBe(true)
  expect(view.proven(1100, 1100)).toBe(false)
  expect(view.proven(1001, 1100)).toBe(false)
  expect(view.proven(1001, 900)).toBe(false)
})
