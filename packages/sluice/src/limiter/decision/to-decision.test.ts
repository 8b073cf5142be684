import { expect, test } from 'vitest'
import { limitSet } from '../../core/engine/any-limit-set.ts'
import type { Answer, LimitStatus } from '../../core/engine/ask.ts'
import { promiseDecision, toDecision } from './to-decision.ts'

const rule = { name: 'per-user', prefix: 'api/per-user/', onStoreFailure: 'closed', lease: false } as const
const terms = { rule, limits: limitSet([]), cost: 1 }

const answers: Record<string, Answer> = {
  allowed: answer(true, [0, 0]),
  'allowed by a lease': { ...answer(true, [0]), by: 'lease' },
  'denied by the second limit': answer(false, [0, 1500]),
  'denied by both limits': answer(false, [2000, 1500]),
  'denied for good': answer(false, [10, Infinity]),
  'denied by the deny-cache': { ...answer(false, [7]), by: 'deny-cache' },
  'allowed without the store': { ...answer(true, []), failure: 'timeout', by: 'open' },
  'denied without the store': { ...answer(false, []), failure: 'timeout', by: 'closed' },
  'denied by what is left locally': { ...answer(false, [30]), failure: 'timeout', by: 'local' },
}

test.each(Object.entries(answers))('the promised decision is the one of the answer: %s', async (_, given) => {
  const promised = await promiseDecision(terms, given, 'v1')
  const made = toDecision([terms], given, 'v1')
  expect(promised).toStrictEqual(made)
  // Only with the same order of fields do both have one hidden class.
  expect(Object.keys(promised)).toEqual(Object.keys(made))
})

function answer(allowed: boolean, waitsMs: readonly number[]): Answer {
  const statuses = waitsMs.map(
    (retryAfterMs, l): LimitStatus => ({
      rule: rule.name,
      name: `limit-${l}`,
      amount: 10,
      remaining: allowed ? 5 : 0,
      windowMs: 60_000,
      resetMs: 3000,
      retryAfterMs,
    }),
  )
  return { allowed, granted: allowed ? 1 : 0, nowUs: 1, statuses: [statuses] }
}
