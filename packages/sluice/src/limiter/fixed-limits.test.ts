import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeKey } from '../core/key.ts'
import { compilePolicy } from '../policy/compile/compile-policy.ts'
import type { LimitsSpec, OverrideSpec } from '../policy/document/document.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import type { Store } from '../stores/store.ts'
import { createLimiter } from './create-limiter.ts'

const request = (tenant: string) => ({ method: 'GET', path: '/', headers: { 'x-tenant': tenant } })

/** A store that counts what reaches it. */
function counted(): Store & { asks: number } {
  const store = memoryStore()
  const counting = {
    ...store,
    asks: 0,
    decide: (...args: Parameters<Store['decide']>) => {
      counting.asks++
      return store.decide(...args)
    },
    close: () => store.close(),
  }
  return counting
}

async function limiterOf(rule: object, store = counted()) {
  const limiter = await createLimiter({
    policy: { service: 's', rules: [{ name: 'r', key: 'headers.x-tenant', limits: { rpm: 2 }, ...rule }] },
    store,
  })
  store.asks = 0
  return { limiter, store }
}

const overrides: OverrideSpec[] = [
  { key: 'internal', limits: 'unlimited' },
  { key: 'crawler', limits: 'deny' },
]

describe('limits that need no counter', () => {
  it('let everything pass, or nothing, without a round trip', async () => {
    const { limiter, store } = await limiterOf({ overrides })
    for (let i = 0; i < 5; i++) {
      expect(await limiter.check(request('internal'))).toMatchObject({ allowed: true, rule: 'r', by: 'policy' })
      expect(await limiter.take('internal')).toMatchObject({ allowed: true, rule: 'r', by: 'policy', limits: [] })
      const denied = { allowed: false, rule: 'r', by: 'policy', reason: 'forbidden', retryAfterMs: Infinity }
      expect(await limiter.check(request('crawler'))).toMatchObject(denied)
      expect(await limiter.take('crawler')).toMatchObject(denied)
      expect(await limiter.peek('crawler')).toMatchObject(denied)
      expect((await limiter.admit(request('crawler'))).decision).toMatchObject(denied)
      expect((await limiter.reserve('crawler')).decision).toMatchObject(denied)
      expect((await limiter.reserve('internal')).allowed).toBe(true)
      expect(await limiter.wait('crawler')).toMatchObject(denied)
      expect(await limiter.wait('internal')).toMatchObject({ allowed: true, by: 'policy' })
    }
    expect(store.asks).toBe(0)
    expect(await limiter.take('other')).toMatchObject({ by: 'store', limits: [{ amount: 2, remaining: 1 }] })
    await limiter.close()
  })

  it('stand for a tier and for a whole rule too', async () => {
    const tiers = { partner: 'unlimited' as const, banned: 'deny' as const }
    const { limiter } = await limiterOf({ tier: { by: 'headers.x-plan', default: 'free' }, tiers })
    const withPlan = (plan: string) => ({ ...request('a'), headers: { 'x-tenant': 'a', 'x-plan': plan } })
    expect(await limiter.check(withPlan('partner'))).toMatchObject({ allowed: true, by: 'policy' })
    expect(await limiter.check(withPlan('banned'))).toMatchObject({ allowed: false, reason: 'forbidden' })
    expect(await limiter.check(withPlan('free'))).toMatchObject({ allowed: true, by: 'store' })
    await limiter.close()
    const whole = await limiterOf({ limits: 'deny' })
    expect(await whole.limiter.check(request('a'))).toMatchObject({ reason: 'forbidden' })
    await whole.limiter.close()
  })

  it('spend nothing of other rules when one denies, and leave counted rules to deny beside unlimited ones', async () => {
    const limiter = await createLimiter({
      policy: {
        service: 's',
        rules: [
          { name: 'all', key: 'const:all', limits: { rpm: 1 } },
          { name: 'tenant', key: 'headers.x-tenant', limits: { rpm: 9 }, overrides },
        ],
      },
    })
    expect(await limiter.check(request('crawler'))).toMatchObject({ reason: 'forbidden', rule: 'tenant' })
    expect(await limiter.wait(request('crawler'))).toMatchObject({ reason: 'forbidden', rule: 'tenant' })
    expect(await limiter.check(request('internal'))).toMatchObject({ allowed: true, rule: 'all', by: 'store' })
    expect(await limiter.check(request('internal'))).toMatchObject({ allowed: false, rule: 'all', reason: 'quota' })
    await limiter.close()
  })

  it('are only watched in shadow mode', async () => {
    const { limiter, store } = await limiterOf({ overrides, mode: 'shadow' })
    expect(await limiter.check(request('crawler'))).toMatchObject({
      allowed: true,
      shadow: [{ rule: 'r', allowed: false }],
    })
    const hold = await limiter.reserve(request('internal'))
    expect(hold.decision.shadow).toEqual([{ rule: 'r', allowed: true, limits: [] }])
    expect(await hold.settle(1)).toBe(false)
    expect(store.asks).toBe(0)
    await limiter.close()
  })

  it('are shown to people, and can be reset and refunded without harm', async () => {
    const { limiter } = await limiterOf({ overrides })
    expect(await limiter.inspect('crawler')).toMatchObject({ fixed: 'deny', limits: [] })
    expect(await limiter.inspect('other')).toMatchObject({ fixed: undefined, limits: [{ amount: 2 }] })
    const { rules, decision } = await limiter.explain(request('internal'))
    expect(rules[0]).toMatchObject({ fixed: 'unlimited', why: expect.stringContaining('limits: unlimited') })
    expect(decision).toMatchObject({ allowed: true, by: 'policy', rule: 'r' })
    expect((await limiter.explain(request('crawler'))).decision).toMatchObject({ reason: 'forbidden' })
    await limiter.refund('crawler')
    await limiter.reset('crawler')
    await limiter.close()
  })

  it('are announced with their rule and key, so that people see who is denied', async () => {
    const { limiter } = await limiterOf({ overrides })
    const seen: unknown[] = []
    limiter.on('decided', ({ rules, subjects }) => seen.push([rules, subjects]))
    await limiter.take('crawler')
    expect(seen).toEqual([[['r'], ['s/r/crawler']]])
    await limiter.close()
  })
})

describe('an override for keys that begin alike', () => {
  const amountFor = (overrides: readonly OverrideSpec[], key: readonly string[]) =>
    compilePolicy({
      service: 's',
      rules: [{ name: 'r', key: key.map((_, i) => `body.k${i}`), limits: { rpm: 1 }, overrides }],
    })
      .rule('r')!
      .limitsFor(encodeKey(key), undefined, 0).limits[0]!.amount

  it('holds for them all, the longest prefix first and a whole key before every prefix', () => {
    const list = [
      { key: 'acme-*', limits: { rpm: 2 } },
      { key: 'acme-eu-*', limits: { rpm: 3 } },
      { key: 'acme-eu-1', limits: { rpm: 4 } },
      { key: 'star\\*', limits: { rpm: 5 } },
    ]
    const amounts = ['acme-us', 'acme-', 'acme-eu-2', 'acme-eu-1', 'star*', 'star-x', 'acme'].map((key) =>
      amountFor(list, [key]),
    )
    expect(amounts).toEqual([2, 2, 3, 4, 5, 1, 1])
  })

  it('may leave a part of the key open', () => {
    const list = [
      { key: ['acme', '*'], limits: { rpm: 2 } },
      { key: ['*', 'en'], limits: { rpm: 3 } },
    ]
    expect([amountFor(list, ['acme', 'en']), amountFor(list, ['x', 'en']), amountFor(list, ['x', 'fr'])]).toEqual([
      2, 3, 1,
    ])
  })

  it('agrees with a model that compares every override', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '/', '%', 'é'), minLength: 1, maxLength: 4 })
    const part = fc.record({ text, isPrefix: fc.boolean() })
    const list = fc.uniqueArray(fc.tuple(part, part), { maxLength: 12, selector: (parts) => JSON.stringify(parts) })
    fc.assert(
      fc.property(list, fc.tuple(text, text), (patterns, key) => {
        const fits = (p: { text: string; isPrefix: boolean }, value: string) =>
          p.isPrefix ? value.startsWith(p.text) : value === p.text
        const weight = (p: { text: string; isPrefix: boolean }) => (p.isPrefix ? p.text.length : Infinity)
        const best = patterns
          .map((parts, i) => ({ parts, amount: i + 2 }))
          .filter(({ parts }) => parts.every((p, i) => fits(p, key[i]!)))
          .sort(
            (a, b) =>
              compare(weight(b.parts[0]), weight(a.parts[0])) || compare(weight(b.parts[1]), weight(a.parts[1])),
          )[0]
        const overrides = patterns.map((parts, i) => ({
          key: parts.map((p) => (p.isPrefix ? `${p.text}*` : p.text)),
          limits: { rpm: i + 2 } as LimitsSpec,
        }))
        expect(amountFor(overrides, key)).toBe(best?.amount ?? 1)
      }),
    )
  })

  it('is refused where it cannot work', () => {
    const policy = (key: string, override: string) => () =>
      compilePolicy({
        service: 's',
        rules: [{ name: 'r', key, limits: { rpm: 1 }, overrides: [{ key: override, limits: 'deny' }] }],
      })
    expect(policy('headers.x | hash', 'acme-*')).toThrow('what is hashed, or made a network, has no prefix')
    expect(policy('headers.x', '*')).toThrow('this is every key: write it as the limits of the rule')
    expect(policy('headers.x | lower', 'ACME-*')).not.toThrow()
  })
})

const compare = (a: number, b: number): number => (a === b ? 0 : a - b)
