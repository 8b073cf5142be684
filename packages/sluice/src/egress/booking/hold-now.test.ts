import { expect, test } from 'vitest'
import { randomHistory } from '../testing/random-history.ts'
import { exchange } from './exchange.ts'
import { holdNow, settleNow } from './hold-now.ts'
import type { Exchange } from './messages.ts'
import { newState } from './state.ts'

test('what is taken and settled at once leaves the same state as an exchange would', () => {
  let held = 0
  for (let seed = 1; seed <= 300; seed++) {
    const [now, asked] = [newState(1_000_000), newState(1_000_000)]
    let nowMs = 1_000_000
    for (const { waitMs, owner, rules, steps } of randomHistory(seed)) {
      nowMs += Math.max(0, waitMs)
      for (const step of steps) {
        const one: Exchange = { owner, sinceMs: -1, rules, steps: [step] }
        const isKnown = step.op === 'book' && (now.calls.has(step.id) || now.waiters.has(step.id))
        // A process that was silent or has places to confirm exchanges first, as does one that others wait for.
        const isPlain = now.owners.has(owner) && !now.assigned.has(owner) && now.waiting === 0
        const isSettling = step.op === 'answered' || step.op === 'done'
        if (step.op === 'book' && !isKnown && isPlain && holdNow(now, rules, owner, step.id, step, nowMs)) {
          held += 1
          expect(exchange(asked, one, nowMs).results).toEqual([{ is: 'held' }])
        } else if (isSettling && isPlain) {
          settleNow(now, rules, owner, step, nowMs)
          exchange(asked, one, nowMs)
        } else expect(exchange(now, one, nowMs)).toEqual(exchange(asked, one, nowMs))
        exchange(now, { ...one, steps: [] }, nowMs)
        exchange(asked, { ...one, steps: [] }, nowMs)
        expect(now, `seed ${seed}: ${JSON.stringify(step)}`).toEqual(asked)
      }
    }
  }
  expect(held).toBeGreaterThan(500)
})
