import fc from 'fast-check'
import { expect, it } from 'vitest'
import { history } from '../../../../../test/exactness/random-history.ts'
import { blankState, type State } from '../../core/algorithms/state.ts'
import type { Answer, Charge } from '../../core/engine/ask.ts'
import { compilePolicy } from '../../policy/compile/compile-policy.ts'
import type { LimitSpec } from '../../policy/document/document.ts'
import { memoryStore } from './memory-store.ts'

/**
 * Every limit of a subject on its own, found again by what it counts: the plainest way to say what a mixture of sets
 * must do.
 */
class Alone {
  readonly #states = new Map<string, State>()

  take({ subject, limits: set, cost }: Charge, now: number): boolean {
    const states = set.limits.map((_, l) => this.#stateOf(`${subject} ${set.tags[l]}`, set.algorithms[l]!.fields))
    const fits = set.limits.every((limit, l) => set.algorithms[l]!.room(states[l]!, 0, limit, now) >= cost)
    if (fits && cost > 0)
      for (const [l, limit] of set.limits.entries()) set.algorithms[l]!.spend(states[l]!, 0, limit, cost, now)
    return fits
  }

  #stateOf(name: string, fields: number): State {
    const known = this.#states.get(name) ?? blankState(fields)
    this.#states.set(name, known)
    return known
  }
}

/** A history has some forty decisions; `npm run test:histories` asks for a million. */
const histories = Math.ceil(Number(process.env.SLUICE_HISTORIES ?? 12_000) / 40)
const timeout = 60_000 + histories * 40

it('limit sets that take turns decide as if each of their limits were counted alone', { timeout }, () => {
  const property = fc.property(history, ({ versions, ticks }) => {
    let nowUs = Date.UTC(2026, 2, 28, 22) * 1000
    const store = memoryStore({ clock: { now: () => nowUs } })
    const alone = new Alone()
    const rules = versions.map(
      (limits) => compilePolicy({ service: 'mixed', rules: [{ name: 'rule', limits }] }).rules[0]!,
    )
    for (const { jumpUs, steps } of ticks) {
      nowUs += jumpUs
      for (const { subjects, version, costs } of steps) {
        const rule = rules[version % rules.length]!
        const limits = rule.limitsFor('a', undefined, 0)
        const charge: Charge = { rule, subject: subjects[0]!, limits, cost: costs[0]! }
        const { allowed } = store.decide({ kind: 'take', charges: [charge], copies: 1, hold: undefined }, 0) as Answer
        if (allowed !== alone.take(charge, nowUs)) expect.fail(`${allowed} at ${nowUs} under ${limits.layout}`)
      }
    }
  })
  fc.assert(property, { numRuns: histories })
})

it('a limit with another period, algorithm or alignment starts unused, and the first is still spent', () => {
  const store = memoryStore({ clock: { now: () => Date.UTC(2026, 2, 28, 22, 0, 30) * 1000 } })
  const admitted = (limits: LimitSpec): number => {
    const rule = compilePolicy({ service: 'mixed', rules: [{ name: 'rule', limits }] }).rules[0]!
    const charges: Charge[] = [{ rule, subject: 'a', limits: rule.limitsFor('a', undefined, 0), cost: 1 }]
    return (store.decide({ kind: 'take', charges, copies: 10, hold: undefined }, 0) as Answer).granted
  }
  const first = { amount: 5, per: '1m' } as const
  const others: LimitSpec[] = [
    { ...first, per: '1h' },
    { ...first, algorithm: 'sliding-log' },
    { ...first, align: 'clock' },
    { ...first, per: 'day' },
  ]
  expect([first, ...others].map(admitted)).toEqual([5, 5, 5, 5, 5])
  expect([first, ...others, { ...first, amount: 7 }].map(admitted)).toEqual([0, 0, 0, 0, 0, 2])
})
