import { describe, expect, it } from 'vitest'
import { compilePolicy } from '../policy/compile/compile-policy.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { createLimiter } from './create-limiter.ts'
import { limitsPolicy } from './limits-policy.ts'

const documentOf = (limits: unknown, service: unknown) => ({
  service,
  rules: [{ name: 'default', key: 'ip', limits }],
})

describe('limits in code', () => {
  it.each([
    [{ rpm: 100 }, 'default'],
    [[{ rps: 5 }, { amount: 10, per: 'day', zone: 'Europe/Berlin' }], 'shop'],
    [{ amount: 100, per: 'day', pace: { burst: 2 } }, 'shop'],
  ])('are the policy that a document with them would be: %j', async (limits, service) => {
    const live = await limitsPolicy(limits, service, 'default', { clock: systemClock() })
    const expected = compilePolicy(documentOf(limits, service))
    const views = [{ ip: '192.0.2.1' }, { ip: 7 as never }, { ip: '' }, {}, { preflight: true, ip: '192.0.2.1' }]
    const shown = (policy: typeof expected) => {
      const all = views.map((view) => ({ method: 'GET', path: '/', headers: {}, ...view }))
      const [rule] = policy.rules
      const said = {
        ...{ policy, rule, known: policy.rule('default')?.name, unknown: policy.rule('other') },
        matched: all.map((view) => policy.match(view, 0)),
        explained: all.map((view) => policy.explain(view, 0)),
        why: [['a'], ['a', 'b']].map((parts) => rule!.whyNoRequestHas(parts)),
        limits: rule!.limitsFor('a', undefined, 0),
        warnings: rule!.warnings(0),
      }
      // Without its functions.
      return JSON.parse(JSON.stringify(said)) as unknown
    }
    expect(shown(live.current)).toEqual(shown(expected))
    expect(live.status).toMatchObject({ version: expected.version, source: 'static', lastError: undefined })
    await live.close()
  })

  it.each([
    [{ rmp: 100 }, 'shop'],
    [{ rpm: -1 }, 'shop'],
    [{ rpm: '5' }, 'shop'],
    [{ amount: 5 }, 'shop'],
    [{ amount: 5, per: 'fortnight' }, 'shop'],
    [{ rps: 1, burst: 2 }, 'shop'],
    [{ rpm: 1, amount: 2 }, 'shop'],
    [[{ rps: 1 }, { rps: 2 }], 'shop'],
    [[], 'shop'],
    [7, 'shop'],
    [{ rpm: 1 }, ''],
    [{ rpm: 1 }, 7],
    [{ rpm: 1 }, 'x'.repeat(201)],
  ])(
    'are refused with the words of a document, and without the rule that nobody wrote: %j of %j',
    async (limits, service) => {
      let expected: unknown
      try {
        compilePolicy(documentOf(limits, service))
      } catch (error) {
        expected = error
      }
      expect(expected).toBeInstanceOf(Error)
      await expect(createLimiter({ limits, service } as never)).rejects.toThrow(
        (expected as Error).message.replaceAll('rules[0].', ''),
      )
    },
  )

  it.each(['_a', '-a', '.a', '__proto__', 'a b', 'x'.repeat(65)])(
    'have no name that no rule can have: %s',
    async (name) => {
      await expect(createLimiter({ limits: { rpm: 1 }, name })).rejects.toThrow('beginning with a letter or digit')
    },
  )
})
