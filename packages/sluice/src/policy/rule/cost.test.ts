import { describe, expect, it, vi } from 'vitest'
import { compilePolicy } from '../compile/compile-policy.ts'
import type { RuleSpec } from '../document/document.ts'

function costOf(cost: RuleSpec['cost'], body: unknown): number | undefined {
  const policy = compilePolicy({ service: 's', rules: [{ name: 'r', key: 'const:all', limits: { rpm: 1 }, cost }] })
  return policy.match({ method: 'GET', path: '/', headers: {}, body }, 0).rules[0]?.cost
}

describe('the cost', () => {
  it('is 1 unless said otherwise', () => {
    expect(costOf(undefined, {})).toBe(1)
    expect(costOf(5, {})).toBe(5)
    expect(costOf(0, {})).toBe(0)
  })

  it.each([
    [40, 40],
    ['40', 40],
    [0.1, 1],
    [0, 1],
    [1.5, 2],
    ['2e3', 2000],
    [1e308, 1e13],
    [2 ** 53 + 1, 1e13],
    [-1, 7],
    [Number.NaN, 7],
    [Number.POSITIVE_INFINITY, 7],
    ['many', 7],
    ['0x10', 7],
    [true, 7],
    [[5], 7],
    [undefined, 7],
  ])('read from a request that says %j is %d', (tokens, cost) => {
    expect(costOf('body.tokens ?? 7', { tokens })).toBe(cost)
  })

  it('is 1 for what is no number when there is no default', () => {
    expect(costOf('body.tokens', { tokens: 'x' })).toBe(1)
    expect(costOf('body.tokens', {})).toBe(1)
  })

  it('can be a function, which cannot break a decision', () => {
    expect(costOf(() => 12, {})).toBe(12)
    expect(costOf(() => Number.NaN, {})).toBe(1)
    expect(
      costOf(() => {
        throw new Error('no')
      }, {}),
    ).toBe(1)
  })

  it.each([
    [() => Number.NaN, 'NaN'],
    [() => -1, '-1'],
    [() => undefined as never, 'undefined'],
    [async () => 5 as never, 'a promise'],
    [
      () => {
        throw new Error('no')
      },
      'Error: no',
    ],
    [
      () => {
        throw Object.create(null)
      },
      'an object',
    ],
  ])('as a function that finds none is warned about once, and the request costs 1 (%#)', (cost, what) => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const policy = compilePolicy({ service: 's', rules: [{ name: 'r', key: 'const:all', limits: { rpm: 1 }, cost }] })
    const request = { method: 'GET', path: '/', headers: {} }
    for (let i = 0; i < 3; i++) expect(policy.match(request, 0).rules[0]?.cost).toBe(1)
    expect(warned.mock.calls).toEqual([
      [
        expect.stringMatching(`The cost function of the rule r .*${what}.*1`),
        { type: 'SluiceWarning', code: 'SLUICE_COST_FAILED' },
      ],
    ])
    warned.mockRestore()
  })

  it.each([[-1], [0.1], [2 ** 53], ['5x'], ['body.tokens ?? many'], [Number.NaN], [null]])(
    'cannot be %j in a policy',
    (cost) => {
      expect(() => costOf(cost as never, {})).toThrow('rules[0].cost')
    },
  )
})
