import { describe, expect, it } from 'vitest'
import type { Answer, TakeAsk } from '../core/engine/ask.ts'
import { compilePolicy } from '../policy/compile/compile-policy.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import { failingStore, failingStoreFor, forgetfulStore, silentStore, slowStore, switchedStore } from './faulty-store.ts'

const policy = compilePolicy({ service: 'faults', rules: [{ name: 'r', limits: { rpm: 10 } }] })
const rule = policy.rules[0]!
const ask: TakeAsk = {
  kind: 'take',
  charges: [{ rule, subject: 'a', limits: rule.limitsFor('a', undefined, 0), cost: 1 }],
  copies: 1,
  hold: undefined,
}
const remaining = (answer: Answer): number => answer.statuses[0]![0]!.remaining

describe('fault wrappers', () => {
  it('fail with the kind that was asked for, and never reach the store', async () => {
    const store = memoryStore()
    await expect(failingStore(store, 'oom').decide(ask, 100)).rejects.toMatchObject({
      kind: 'oom',
      code: 'SLUICE_STORE_FAILED',
    })
    expect(store.size).toBe(0)
  })

  it('fail as often as said, then work', async () => {
    const store = failingStoreFor(memoryStore(), 2, 'busy')
    await expect(store.decide(ask, 100)).rejects.toMatchObject({ kind: 'busy' })
    await expect(store.decide(ask, 100)).rejects.toMatchObject({ kind: 'busy' })
    expect(remaining(await store.decide(ask, 100))).toBe(9)
  })

  it('answer late, having decided at once', async () => {
    const store = memoryStore()
    const late = slowStore(store, 5).decide(ask, 100)
    expect(remaining(await store.decide(ask, 100))).toBe(8)
    expect(remaining(await late)).toBe(9)
  })

  it('never settle', async () => {
    const silent = silentStore(memoryStore()).decide(ask, 1)
    const other = new Promise((resolve) => setTimeout(resolve, 20, 'the other'))
    expect(await Promise.race([silent, other])).toBe('the other')
  })

  it('lose the answer of what was done', async () => {
    const store = memoryStore()
    await expect(forgetfulStore(store).decide(ask, 100)).rejects.toMatchObject({ kind: 'connection' })
    expect(remaining(await store.decide(ask, 100))).toBe(8)
  })

  it('go down and come back when told', async () => {
    const store = switchedStore(memoryStore())
    await store.decide(ask, 100)
    store.failing = 'loading'
    await expect(store.decide(ask, 100)).rejects.toMatchObject({ kind: 'loading' })
    store.failing = undefined
    expect(remaining(await store.decide(ask, 100))).toBe(8)
    expect(store.asked).toBe(3)
  })
})
