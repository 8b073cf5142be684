import { describe, expect, it } from 'vitest'
import { PolicyError } from '../document/policy-error.ts'
import { compilePolicyInSlices, compileSteps } from './compile-policy.ts'

const many = 1000
const rule = (i: number): object => ({ name: `r${i}`, key: 'ip', limits: { rpm: 1 } })
const policy = (rules: readonly unknown[]) => ({ service: 's', rules })

describe('a policy with very many rules', () => {
  it('has the mistakes of shape and of meaning of all of them listed', async () => {
    const rules: unknown[] = Array.from({ length: many }, (_, i) => rule(i))
    rules[3] = { ...rule(3), key: 'fn:unknown' }
    rules[70] = { ...rule(70), name: 5 }
    rules[500] = { ...rule(500), limits: { rpm: 'many' } }
    rules[999] = { ...rule(999), limit: {} }
    const error = await compilePolicyInSlices(policy(rules)).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(PolicyError)
    const paths = (error as PolicyError).issues.map(({ path }) => path)
    expect(new Set(paths)).toEqual(
      new Set(['rules[3].key', 'rules[70].name', 'rules[500].limits.rpm', 'rules[999].limit']),
    )
  })

  it('is compiled whole', async () => {
    const { rules } = await compilePolicyInSlices(policy(Array.from({ length: many }, (_, i) => rule(i))))
    expect(rules.map(({ name }) => name)).toEqual(Array.from({ length: many }, (_, i) => `r${i}`))
  })

  it.each([1, 100, 900])('is not read on after an abort at rule %i', async (at) => {
    const left = new AbortController()
    let compiled = 0
    const functions = (name: string) => {
      compiled++
      if (name === `f${at}`) left.abort()
      return () => null
    }
    const rules = Array.from({ length: many }, (_, i) => ({ ...rule(i), key: `fn:f${i}` }))
    const compiling = compilePolicyInSlices(policy(rules), { functions, signal: left.signal })
    await expect(compiling).rejects.toThrow('aborted')
    expect(compiled).toBe(at + 1)
  })

  it('is never checked in one long step', () => {
    let reads = 0
    const counted = (i: number): object => ({
      ...rule(i),
      get limits() {
        reads++
        return { rpm: 1 }
      },
    })
    const steps = compileSteps(policy(Array.from({ length: many }, (_, i) => counted(i))), {})
    let mostInStep = 0
    for (let before = reads; !steps.next().done; before = reads) mostInStep = Math.max(mostInStep, reads - before)
    expect(mostInStep).toBeLessThan(many / 2)
  })
})
