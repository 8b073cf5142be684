import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { compilePolicy } from '../policy/compile/compile-policy.ts'
import { storeConformance } from '../testing/store-conformance.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { stateStore } from './state-store.ts'
import type { Store } from './store.ts'

const framework = { afterAll, beforeAll, describe, it }

function mapStore(values: Map<string, string>, nowUs: () => number): Store {
  return stateStore({
    name: 'map',
    transact(keys, decideOn) {
      for (const { key, value } of decideOn(
        keys.map((key) => values.get(key)),
        nowUs(),
      ))
        if (value === undefined) values.delete(key)
        else values.set(key, value)
    },
  })
}

storeConformance(framework, {
  name: 'a store on a map',
  abilities: ['keepsDeadlines', 'lossMark'],
  start: async () => {
    const clock = virtualClock()
    const store = mapStore(new Map(), () => clock.now())
    return { store, advance: (ms) => clock.advance(ms), stop: async () => {} }
  },
})

storeConformance(framework, {
  name: 'a store on a map that says it knows only windows, without holds',
  algorithms: ['fixed-window', 'calendar'],
  holds: false,
  abilities: ['keepsDeadlines', 'lossMark'],
  start: async () => {
    const clock = virtualClock()
    const store = mapStore(new Map(), () => clock.now())
    return { store, advance: (ms) => clock.advance(ms), stop: async () => {} }
  },
})

/** A store whose transactions take so long, and an ask of one key. */
function slowStore(ms: number) {
  const clock = virtualClock()
  const rule = compilePolicy({ service: 's', rules: [{ name: 'r', limits: { rph: 5 } }] }).rules[0]!
  const charges = [{ rule, subject: 'a', limits: rule.limitsFor('a', undefined, 0), cost: 1 }]
  const store = stateStore({
    name: 'slow',
    clock,
    async transact(keys, decideOn) {
      await new Promise<void>((resolve) => clock.setTimeout(resolve, ms))
      decideOn(
        keys.map(() => undefined),
        clock.now(),
      )
    },
  })
  const kind = (ask: Promise<unknown>): Promise<string> =>
    ask.then(
      () => 'decided',
      (error) => error.kind,
    )
  const takes = (count: number, withinMs: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        kind(Promise.resolve(store.decide({ kind: 'take', charges, copies: 1, hold: undefined }, withinMs))),
      ),
    )
  return { clock, takes }
}

const counts = (kinds: readonly string[]): Record<string, number> =>
  Object.fromEntries([...new Set(kinds)].map((kind) => [kind, kinds.filter((each) => each === kind).length]))

test('more than can be decided in time is an overload of this process, not a failure of the store', async () => {
  const { clock, takes } = slowStore(50)
  const taken = takes(4000, 225)
  await clock.advance(400)
  expect(counts(await taken)).toEqual({ decided: 2000, overload: 2000 })
})

test('a database that does not answer has failed, also for what waits behind', async () => {
  const { clock, takes } = slowStore(10_000)
  const taken = takes(4000, 225)
  await clock.advance(400)
  expect(counts(await taken)).toEqual({ timeout: 4000 })
})

test('a process that was late itself does not blame the database', async () => {
  const { clock, takes } = slowStore(10)
  const taken = takes(10, 200)
  await Promise.resolve()
  clock.tick(500)
  await clock.advance(100)
  expect(counts(await taken)).toEqual({ overload: 10 })
})

test('an ask that waited for others until its deadline charges nothing', async () => {
  const clock = virtualClock()
  const rule = compilePolicy({ service: 's', rules: [{ name: 'r', limits: { rph: 5 } }] }).rules[0]!
  const charges = [{ rule, subject: 'a', limits: rule.limitsFor('a', undefined, 0), cost: 1 }]
  let transactions = 0
  const store = stateStore({
    name: 'slow',
    clock,
    async transact(keys, decideOn) {
      transactions++
      await new Promise<void>((resolve) => clock.setTimeout(resolve, 50))
      decideOn(
        keys.map(() => undefined),
        clock.now(),
      )
    },
  })
  const take = (withinMs: number) => store.decide({ kind: 'take', charges, copies: 1, hold: undefined }, withinMs)
  const outcomes = Promise.allSettled([take(100), take(20)])
  await clock.advance(60)
  const [first, second] = await outcomes
  expect(first.status).toBe('fulfilled')
  expect(second).toMatchObject({ status: 'rejected', reason: { kind: 'timeout' } })
  expect(transactions).toBe(1)
})

test('a value that is not ours fails only its own subject, and reset repairs it', async () => {
  const values = new Map([['s/r/broken', '{"at":1,"limits":[[4,["x"]]]}']])
  const store = mapStore(values, () => Date.now() * 1000)
  const rule = compilePolicy({ service: 's', rules: [{ name: 'r', limits: { rph: 5 } }] }).rules[0]!
  const charge = (subject: string) => ({ rule, subject, limits: rule.limitsFor(subject, undefined, 0), cost: 1 })
  const take = (subject: string) =>
    store.decide({ kind: 'take', charges: [charge(subject)], copies: 1, hold: undefined }, 60_000)
  await expect(take('broken')).rejects.toMatchObject({ kind: 'wrongtype' })
  expect((await take('other')).allowed).toBe(true)
  await store.decide({ kind: 'reset', charges: [charge('broken')] }, 60_000)
  expect((await take('broken')).allowed).toBe(true)
})
