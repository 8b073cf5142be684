import fc from 'fast-check'
import { parseDictionary, parseItem, parseList } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import type { LimitStatus } from '../../core/engine/ask.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { NameOf } from './header.ts'
import { partitionKey } from './partition-key.ts'
import { type HeaderVersion, rateLimitHeaders } from './rate-limit-headers.ts'
import { retryAfterSeconds } from './retry-after.ts'

const limit = (overrides: Partial<LimitStatus> = {}): LimitStatus => ({
  ...{ rule: 'api', name: 'rpm', amount: 1000, remaining: 50, windowMs: 60_000, resetMs: 29_001, retryAfterMs: 0 },
  ...overrides,
})

const decisionOf = (limits: readonly LimitStatus[], overrides: Partial<Decision> = {}): Decision =>
  ({
    ...{ allowed: true, reason: 'allowed', rule: 'api', limits, retryAfterMs: 0, by: 'store' },
    ...{ degraded: false, failure: undefined, shadow: [], policyVersion: '1' },
    ...overrides,
  }) as Decision

const byName: NameOf = (status) => status.name

function written(
  version: HeaderVersion | readonly HeaderVersion[] | false,
  limits: readonly LimitStatus[],
  partition = '',
  nameOf = byName,
) {
  return Object.fromEntries(rateLimitHeaders(version, nameOf)(decisionOf(limits), partition))
}

describe('the form of OpenAI', () => {
  it('shows requests and tokens apart, with times as Go writes them', () => {
    const tokens = limit({ rule: 'tpm', name: 'rpm', amount: 90_000, remaining: 10, resetMs: 360_000 })
    expect(written('openai', [limit(), limit({ name: 'rpd', remaining: 900 }), tokens])).toEqual({
      'x-ratelimit-limit-requests': '1000',
      'x-ratelimit-remaining-requests': '50',
      'x-ratelimit-reset-requests': '30s',
      'x-ratelimit-limit-tokens': '90000',
      'x-ratelimit-remaining-tokens': '10',
      'x-ratelimit-reset-tokens': '6m0s',
    })
    expect(written('openai', [limit({ resetMs: 120 })])).toMatchObject({ 'x-ratelimit-reset-requests': '120ms' })
    expect(written('openai', [limit({ resetMs: 3_600_000 })])['x-ratelimit-reset-requests']).toBe('1h0m0s')
    expect(Object.keys(written('openai', [tokens]))).toHaveLength(3)
    expect(written('openai', [limit({ name: 'in-flight', amount: 3, windowMs: 0 })])).toEqual({})
  })
})

describe('draft 11', () => {
  it('writes what the draft shows', () => {
    expect(written('draft-11', [limit()])).toEqual({
      'RateLimit-Policy': '"rpm";q=1000;w=60',
      RateLimit: '"rpm";r=50;t=30',
    })
  })

  it('writes lists that an independent parser reads back', () => {
    const limits = [
      limit({ name: 'rps', amount: 20, windowMs: 1000, remaining: 3, resetMs: 1 }),
      limit(),
      limit({ name: 'in-flight', amount: 8, windowMs: 0, remaining: 2, resetMs: 0 }),
      limit({ name: 'half', windowMs: 500, amount: 1e13, remaining: 0, resetMs: 0, retryAfterMs: 500 }),
    ]
    const headers = written('draft-11', limits)
    const read = (field: string | undefined) =>
      parseList(field ?? '').map(([name, parameters]) => [name, Object.fromEntries(parameters)])
    expect(read(headers['RateLimit-Policy'])).toEqual([
      ['rps', { q: 20, w: 1 }],
      ['rpm', { q: 1000, w: 60 }],
      ['in-flight', { q: 8, qu: 'concurrent-requests' }],
      ['half', { q: 1e13, w: 1 }],
    ])
    expect(read(headers.RateLimit)).toEqual([
      ['rps', { r: 3, t: 1 }],
      ['rpm', { r: 50, t: 30 }],
      ['in-flight', { r: 2 }],
      ['half', { r: 0, t: 1 }],
    ])
  })

  it.each([
    'per "user"',
    'back\\slash',
    'größe',
    '限流',
    'a\r\nSet-Cookie: x=1',
    '\0',
    '\ud800',
    '',
    '";q=9',
    '%',
    '~',
  ])('keeps a policy named %j inside its string', (name) => {
    const headers = written('draft-11', [limit({ name })])
    const [item] = parseList(headers.RateLimit ?? '')
    expect(headers.RateLimit).toMatch(/^[ -~]+$/)
    expect(item?.[0]).toBe(
      encodeURI(name.replace(/\p{Surrogate}/gu, '\ufffd')).replace(/%(2[02]|3E|5C|25)/g, decodeURIComponent),
    )
    expect(item?.[1].get('r')).toBe(50)
  })

  it('writes the partition key as bytes that do not tell the partition', () => {
    const secret = 'sk-live-0123456789'
    const pk = partitionKey('pepper')
    const headers = written('draft-11', [limit()], pk(secret))
    const bytes = parseList(headers.RateLimit ?? '')[0]?.[1].get('pk')
    expect(new Uint8Array(bytes as ArrayBuffer)).toHaveLength(12)
    expect(headers.RateLimit).not.toContain(btoa(secret).slice(0, 6))
    expect(pk(secret)).toBe(pk(secret))
    expect(pk(secret)).not.toBe(pk(`${secret}0`))
    expect(partitionKey()(secret)).not.toBe(partitionKey()(secret))
  })

  it('leaves out the time of a limit that can never pass', () => {
    const headers = written('draft-11', [limit({ retryAfterMs: Number.POSITIVE_INFINITY, remaining: 1000 })])
    expect(headers.RateLimit).toBe('"rpm";r=1000')
  })

  it('writes the same whatever was written before', () => {
    const status = fc.record({
      amount: fc.constantFrom(10, 20),
      remaining: fc.integer({ min: 0, max: 2 }),
      windowMs: fc.constantFrom(0, 1000, 60_000),
      resetMs: fc.integer({ min: 0, max: 3000 }),
      retryAfterMs: fc.constantFrom(0, 0, 1500, 2500, Number.POSITIVE_INFINITY),
    })
    const decision = fc.record({
      limits: fc.array(status, { minLength: 1, maxLength: 3 }),
      allowed: fc.boolean(),
      partition: fc.constantFrom('', ';pk=:YQ==:'),
    })
    fc.assert(
      fc.property(fc.array(decision, { maxLength: 30 }), (decisions) => {
        const write = rateLimitHeaders('draft-11', byName)
        for (const { limits, allowed, partition } of decisions) {
          const asked = decisionOf(limits.map(limit), { allowed })
          expect(write(asked, partition)).toEqual(rateLimitHeaders('draft-11', byName)(asked, partition))
        }
      }),
    )
  })

  it('tells subjects with other limits apart, and follows a new policy', () => {
    let suffix = ''
    const write = rateLimitHeaders('draft-11', (status) => status.name + suffix)
    const policy = (limits: readonly LimitStatus[], policyVersion: string) =>
      Object.fromEntries(write(decisionOf(limits, { policyVersion }), ''))['RateLimit-Policy']
    expect(policy([limit()], '1')).toBe('"rpm";q=1000;w=60')
    expect(policy([limit({ amount: 500 })], '1')).toBe('"rpm";q=500;w=60')
    expect(policy([limit({ windowMs: 1000 })], '1')).toBe('"rpm";q=1000;w=1')
    expect(policy([limit()], '1')).toBe('"rpm";q=1000;w=60')
    suffix = '!'
    expect(policy([limit()], '1')).toBe('"rpm";q=1000;w=60')
    expect(policy([limit()], '2')).toBe('"rpm!";q=1000;w=60')
    for (let amount = 1; amount <= 20_000; amount++) {
      expect(policy([limit({ amount })], '2')).toBe(`"rpm!";q=${amount};w=60`)
    }
  })
})

describe('the older forms', () => {
  const limits = [
    limit({ name: 'rps', amount: 20, windowMs: 1000, remaining: 19, resetMs: 1 }),
    limit({ remaining: 7 }),
  ]

  it('of draft 7 are an item list and a dictionary of the tightest limit', () => {
    const headers = written('draft-7', limits)
    expect(parseList(headers['RateLimit-Policy'] ?? '').map(([q, p]) => [q, p.get('w')])).toEqual([
      [20, 1],
      [1000, 60],
    ])
    const fields = [...parseDictionary(headers.RateLimit ?? '')].map(([name, [value]]) => [name, value])
    expect(Object.fromEntries(fields)).toEqual({ limit: 1000, remaining: 7, reset: 30 })
  })

  it('of draft 6 are three integers and the policy', () => {
    const headers = written('draft-6', limits)
    expect(headers['RateLimit-Policy']).toBe('20;w=1, 1000;w=60')
    const integers = ['Limit', 'Remaining', 'Reset'].map((part) => parseItem(headers[`RateLimit-${part}`] ?? '')[0])
    expect(integers).toEqual([1000, 7, 30])
  })

  it('of no draft are three integers', () => {
    expect(written('x-ratelimit', limits)).toEqual({
      'X-RateLimit-Limit': '1000',
      'X-RateLimit-Remaining': '7',
      'X-RateLimit-Reset': '30',
    })
  })

  it('may count from 1970', () => {
    const reset = Number(written('x-ratelimit-epoch', limits)['X-RateLimit-Reset'])
    expect(Math.abs(reset - (Date.now() / 1000 + 29))).toBeLessThan(10)
  })

  it('tell of the limit that denies for longest', () => {
    const denied = [
      limit({ remaining: 0, retryAfterMs: 900 }),
      limit({ name: 'rph', remaining: 1, retryAfterMs: 90_000 }),
    ]
    expect(written('x-ratelimit', denied)['X-RateLimit-Reset']).toBe('90')
  })

  it('tell of places in flight only when there is nothing else', () => {
    const inFlight = limit({ name: 'in-flight', amount: 8, windowMs: 0, remaining: 0, resetMs: 0 })
    expect(written('x-ratelimit', [inFlight, limit()])['X-RateLimit-Limit']).toBe('1000')
    expect(written('x-ratelimit', [inFlight])['X-RateLimit-Limit']).toBe('8')
  })
})

describe('the choice of headers', () => {
  it('may be several, or none', () => {
    expect(Object.keys(written(['draft-11', 'x-ratelimit'], [limit()]))).toEqual([
      ...['RateLimit-Policy', 'RateLimit', 'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
    ])
    expect(written(false, [limit()])).toEqual({})
    expect(written('draft-11', [])).toEqual({})
  })
  it.each(['draft-8', true, undefined, 'toString'])('cannot be %j', (version) => {
    expect(() => rateLimitHeaders(version as never, byName)).toThrow(/headers is/)
  })
  it('cannot be two that share their names', () => {
    expect(() => rateLimitHeaders(['draft-11', 'draft-7'], byName)).toThrow(/same names/)
  })
})

describe('Retry-After', () => {
  const secondsFor = (retryAfterMs: number, limits: readonly LimitStatus[] = [], jitterMs = 0) =>
    retryAfterSeconds(decisionOf(limits, { allowed: false, reason: 'quota', retryAfterMs }), jitterMs)

  it.each([
    [0, 1],
    [-1, 1],
    [Number.NaN, 1],
    [1, 1],
    [1000, 1],
    [1001, 2],
    [400 * 86_400_000, 34_560_000],
    [Number.POSITIVE_INFINITY, 2_147_483],
  ])('of %d ms is %d s', (ms, expected) => expect(secondsFor(ms)).toBe(expected))

  it('is never before a limit that denies is open again', () => {
    expect(secondsFor(1000, [limit({ retryAfterMs: 5001 }), limit({ retryAfterMs: 10 })])).toBe(6)
  })
  it('is only ever moved later by jitter', () => {
    expect(secondsFor(1000, [], 1500)).toBe(3)
  })
})
