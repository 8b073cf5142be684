import { describe, expect, expectTypeOf, it } from 'vitest'
import { staticPolicy } from '../policy/live/source.ts'
import { createLimiter } from './create-limiter.ts'
import type { DenialReason } from './decision/decision.ts'
import type { Admission, HoldHandle, Limiter } from './limiter.ts'

describe('types that users rely on', () => {
  it('infer the names of rules from a policy in code', async () => {
    const limiter = await createLimiter({
      policy: {
        service: 's',
        rules: [
          { name: 'per-user', limits: { rpm: 1 } },
          { name: 'per-ip', limits: { rpm: 1 } },
        ],
      },
    })
    expectTypeOf(limiter).toEqualTypeOf<Limiter<'per-user' | 'per-ip'>>()
    // @ts-expect-error a rule that the policy does not have
    const mistyped = () => limiter.take('a', { rule: 'per-usr' })
    expectTypeOf(mistyped).toBeFunction()
    const decision = await limiter.take('a', { rule: 'per-ip' })
    if (!decision.allowed) expectTypeOf(decision.rule).toEqualTypeOf<'per-user' | 'per-ip'>()
    expectTypeOf(limiter).toMatchTypeOf<Limiter>()
    await limiter.close()
  })

  it('leave the names open where the policy comes from a source', async () => {
    const limiter = await createLimiter({
      policy: staticPolicy('service: s\nrules: [{ name: r, limits: { rpm: 1 } }]'),
    })
    expectTypeOf(limiter).toEqualTypeOf<Limiter<string>>()
    await limiter.close()
  })

  it('narrow a decision by allowed', async () => {
    const limiter = await createLimiter({ limits: { rpm: 1 } })
    const decision = await limiter.take('a')
    if (decision.allowed) {
      expectTypeOf(decision.reason).toEqualTypeOf<'allowed'>()
      expectTypeOf(decision.rule).toEqualTypeOf<string | undefined>()
    } else {
      expectTypeOf(decision.reason).toEqualTypeOf<DenialReason>()
      expectTypeOf(decision.rule).toEqualTypeOf<string>()
    }
    await limiter.close()
  })

  it('let holds be disposed of by await using, also where there is none', () => {
    expectTypeOf<HoldHandle>().toMatchTypeOf<AsyncDisposable>()
    const use = async (admission: Admission<'r'>) => {
      await using hold = admission.hold
      expectTypeOf(hold).toEqualTypeOf<HoldHandle<'r'> | undefined>()
    }
    expectTypeOf(use).toBeFunction()
  })

  it('write a wait without end as null in JSON', async () => {
    const limiter = await createLimiter({ limits: { rpm: 1 } })
    const decision = await limiter.take('a', { cost: 2 })
    expect(decision.retryAfterMs).toBe(Number.POSITIVE_INFINITY)
    expect(JSON.parse(JSON.stringify(decision))).toMatchObject({ retryAfterMs: null, limits: [{ retryAfterMs: null }] })
    await limiter.close()
  })
})
