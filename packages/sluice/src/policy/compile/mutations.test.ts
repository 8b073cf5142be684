import assert from 'node:assert/strict'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CompiledPolicy } from '../compiled-policy.ts'
import { parseDocument } from '../document/parse/parse-document.ts'
import { PolicyError } from '../document/policy-error.ts'
import type { RequestView } from '../request-view.ts'
import { compilePolicy } from './compile-policy.ts'

// Plain assertions: a hundred thousand documents make many of them.
// The full count of 10^5 runs with SLUICE_MUTATIONS=100000.
const runs = Number(process.env.SLUICE_MUTATIONS ?? 3000)

const original = {
  service: 'svc',
  tiers: { free: { rpm: 100 }, gold: [{ amount: 5, per: '15m', algorithm: 'gcra', burst: 2, name: 'g' }] },
  rules: [
    {
      name: 'a',
      match: { method: ['POST', 'GET'], path: '/v1/:id', headers: { 'x-k': ['1', '2'] }, body: { n: 1 } },
      key: ['body.tenant ?? none | lower', 'params.id'],
      limits: { rps: 20, rpm: 1000 },
      overrides: [{ key: ['acme', 7], limits: { rpm: 5 }, until: '2027-01-31' }],
      cost: 'body.tokens ?? 1',
      onStoreFailure: 'closed',
    },
    {
      name: 'b',
      key: { first: ['headers.x-k', ['ip', 'const:x']] },
      tier: { by: 'body.tenant', map: { acme: 'gold' }, default: 'free' },
    },
    {
      name: 'c',
      limits: [
        { amount: 1, per: 'day', zone: 'UTC' },
        { amount: 2, algorithm: 'concurrency' },
      ],
      mode: 'shadow',
    },
  ],
}

const requests: readonly RequestView[] = [
  { method: 'POST', path: '/v1/7', headers: { 'x-k': '1' }, body: { tenant: 'ACME', n: 1, tokens: 5 }, ip: '1.2.3.4' },
  { method: 'GET', path: '/', headers: {}, ip: '1.2.3.4' },
]

/** All a policy says to the requests, as data. */
function meaningOf(policy: CompiledPolicy): unknown {
  return requests.map((request) => {
    const { rules, refusedBy } = policy.match(request, 0)
    const told = policy.explain(request, 0).flatMap(({ match }) => match ?? [])
    assert.deepEqual(
      told.map(({ subject }) => subject),
      rules.map(({ subject }) => subject),
    )
    for (const { cost, limits } of rules) {
      assert(Number.isInteger(cost) && cost >= 0 && cost <= 1e13)
      for (const { amount, periodMs, burst, intervalUs } of limits.limits) {
        for (const number of [amount, periodMs, burst, intervalUs]) assert(Number.isSafeInteger(number) && number >= 0)
      }
    }
    return {
      rules: rules.map(({ rule, limits, ...rest }) => ({ ...rest, rule: rule.name, limits: limits.limits })),
      refusedBy: refusedBy?.name,
    }
  })
}

/** Compiles, and insists that nothing but a `PolicyError` with at least one mistake comes out of it. */
function compiled(make: () => unknown): CompiledPolicy | undefined {
  try {
    return compilePolicy(make(), { env: {} })
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error
    assert(error.issues.length > 0)
    for (const { path, message } of error.issues) assert(typeof path === 'string' && message.length > 0)
    return undefined
  }
}

// A value that is used twice must not carry over what was done to it the first time.
function freshly(value: unknown): unknown {
  try {
    return structuredClone(value)
  } catch {
    return value
  }
}

function textOf(document: unknown): string {
  return JSON.stringify(document, (_, value: unknown) => (typeof value === 'function' ? String(value) : value))
}

interface Place {
  readonly holder: Record<string, unknown>
  readonly field: string
}

function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Record<string, unknown>
  return Object.keys(holder).flatMap((field) => [{ holder, field }, ...placesIn(holder[field])])
}

const strange = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -1,
    0,
    0.5,
    1e13,
    2 ** 53,
    1e308,
    -0,
    true,
    '',
    ' ',
    [],
    {},
  ),
  fc.constantFrom<unknown>(
    '__proto__',
    'constructor',
    '1',
    'body.x',
    'key',
    'ip',
    '/*',
    '/:a/:a',
    'gcra',
    'day',
    '0.5ms',
    '400d',
    'const:',
    '*',
    'fn:x',
  ),
  fc.constantFrom<unknown>(
    Symbol('s'),
    10n,
    () => null,
    new Date(0),
    new Date(Number.NaN),
    new Map(),
    Object.create(null),
    ['a', ['b']],
  ),
  fc.anything({ maxDepth: 2, withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
  fc.string({ unit: 'binary' }),
  fc.double(),
)

// Nothing here waits, so that time only says how busy the machine is.
describe('a mutated document', { timeout: 240_000 + runs * 20 }, () => {
  it('is refused whole or means something defined, and nothing else is ever thrown', () => {
    const { version } = compilePolicy(original)
    const text = textOf(original)
    let taken = 0
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(), fc.constantFrom('set', 'drop', 'add', 'rename'), strange), {
          minLength: 1,
          maxLength: 3,
        }),
        (changes) => {
          const document = structuredClone(original)
          for (const [pick, how, given] of changes) {
            const value = freshly(given)
            const places = placesIn(document)
            if (places.length === 0) break
            const { holder, field } = places[pick % places.length]!
            if (how === 'add')
              // The length of a list cannot be defined anew.
              Object.defineProperty(holder, typeof value === 'string' && value !== 'length' ? value : 'added', {
                value,
                enumerable: true,
                configurable: true,
                writable: true,
              })
            if (how === 'rename') holder[`${field}x`] = holder[field]
            if (how === 'set') holder[field] = value
            if (how === 'drop' || how === 'rename') delete holder[field]
          }
          const policy = compiled(() => document)
          if (policy) {
            taken++
            // Nothing that a document says is overlooked: whatever says something else is another version.
            assert.equal(policy.version === version, textOf(document) === text)
            assert.deepEqual(meaningOf(compilePolicy(document, { env: {} })), meaningOf(policy))
          }
        },
      ),
      { numRuns: runs },
    )
    expect(taken).toBeGreaterThan(0)
  })

  it('with one field misspelt or added anywhere is refused', () => {
    const open = /^(tiers|headers|body|map)$/
    const count = placesIn({ original }).length
    for (let i = 0; i < count; i++) {
      const whole = structuredClone({ original })
      const { holder, field } = placesIn(whole)[i]!
      const target = holder[field]
      if (typeof target !== 'object' || target === null || Array.isArray(target) || open.test(field)) continue
      const fields = target as Record<string, unknown>
      for (const name of Object.keys(fields)) {
        const value = fields[name]
        delete fields[name]
        fields[`${name}s`] = value
        expect(
          compiled(() => whole.original),
          `${field}.${name}s`,
        ).toBeUndefined()
        delete fields[`${name}s`]
        fields[name] = value
      }
      fields.added = 1
      expect(
        compiled(() => whole.original),
        `${field}.added`,
      ).toBeUndefined()
    }
  })

  it('as text, cut off or with characters changed, is refused or means the same as what it reads as', () => {
    const text = JSON.stringify(original, null, 1)
    fc.assert(
      fc.property(
        fc.nat(text.length),
        fc.nat(3),
        fc.string({ unit: 'binary', maxLength: 2 }),
        fc.boolean(),
        (at, drop, put, cut) => {
          const mutated = cut ? text.slice(0, at) : text.slice(0, at) + put + text.slice(at + drop)
          const policy = compiled(() => mutated)
          if (policy) assert.deepEqual(meaningOf(compilePolicy(parseDocument(mutated), { env: {} })), meaningOf(policy))
        },
      ),
      { numRuns: Math.ceil(runs / 10) },
    )
  })

  it('with its fields in another order means the same', () => {
    const shuffled = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(shuffled)
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([field, inner]) => [field, shuffled(inner)]),
      )
    }
    expect(meaningOf(compilePolicy(shuffled(original)))).toEqual(meaningOf(compilePolicy(original)))
  })
})
