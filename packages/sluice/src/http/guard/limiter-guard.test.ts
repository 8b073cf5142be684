import { parseList } from 'structured-headers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { GuardOutcome } from '../../admission/outcome.ts'
import type { Clock } from '../../core/clock.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { RuleSpec } from '../../policy/document/document.ts'
import type { RequestView } from '../../policy/request-view.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import { memoryStore } from '../../stores/memory/memory-store.ts'
import type { Store } from '../../stores/store.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { clientAddress } from '../identity/client-address.ts'
import type { LimiterGuardOptions } from './guard-options.ts'
import { limiterGuard } from './limiter-guard.ts'

const opened: Limiter[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const limiter of opened.splice(0)) await limiter.close()
})

const perAddress: RuleSpec = { name: 'per-address', key: 'ip', limits: { rpm: 2 } }
const viewOf = (parts: Partial<RequestView> = {}): RequestView => ({
  ...{ method: 'GET', path: '/', headers: {}, ip: '203.0.113.1' },
  ...parts,
})
const headersOf = ({ denial, headers }: GuardOutcome<Decision>) => Object.fromEntries(denial?.headers ?? headers)

async function guardOf(
  options: LimiterGuardOptions<RequestView> = {},
  rules: readonly RuleSpec[] = [perAddress],
  store: Store = memoryStore(),
  clock: Clock = systemClock(),
) {
  const limiter = await createLimiter({ policy: { service: 'suite', rules }, store, denyCache: false, clock })
  opened.push(limiter)
  const guard = limiterGuard(limiter, options)
  const decide = (parts?: Partial<RequestView>, gone?: () => AbortSignal) => {
    const view = viewOf(parts)
    return guard.decide(view, view, gone)
  }
  return { limiter, decide }
}

describe('a rule with a concurrency limit', () => {
  const uploads: RuleSpec = {
    ...{ name: 'uploads', match: { path: '/up' }, key: 'ip' },
    limits: { amount: 1, algorithm: 'concurrency' },
  }

  it('costs only the requests that it matches', async () => {
    const store = memoryStore()
    const asked: unknown[] = []
    const { decide } = await guardOf({}, [uploads, { ...perAddress, limits: { rpm: 9 } }], {
      name: 'watched',
      health: (withinMs) => store.health(withinMs),
      close: () => store.close(),
      decide: (ask) => {
        // The heartbeat of the replica asks too.
        if (ask.charges.some(({ rule }) => rule.name === 'uploads' || rule.name === 'per-address'))
          asked.push(ask.kind === 'take' ? ask.hold?.permitsOnly : ask.kind)
        return store.decide(ask, 0)
      },
    })
    expect((await decide()).finish).toBeUndefined()
    const { finish } = await decide({ path: '/up' })
    expect((await decide()).finish).toBeUndefined()
    expect((await decide({ path: '/up' })).denial?.problem['violated-policies']).toEqual(['uploads/concurrency'])
    finish!({ status: 200, bytes: 0, completed: true })
    expect((await decide()).finish).toBeUndefined()
    expect(asked).toEqual([undefined, true, undefined, true, 'settle', undefined])
  })

  const throwing = () => {
    throw new Error('a mistake')
  }
  it.each<[string, LimiterGuardOptions<RequestView>]>([
    ['partition', { partition: { of: throwing } }],
    ['policyName', { policyName: throwing }],
  ])('gives the place back when %s throws', async (_, options) => {
    const { limiter, decide } = await guardOf(options, [uploads])
    await expect(decide({ path: '/up' })).rejects.toThrow('a mistake')
    await vi.waitFor(async () => expect((await limiter.inspect(['203.0.113.1'])).holds).toEqual([]))
  })

  it('is only asked for a free place by guards that do not see the response', async () => {
    const { decide } = await guardOf({ inFlight: false }, [uploads])
    for (let i = 0; i < 3; i++)
      expect(await decide({ path: '/up' })).toMatchObject({ denial: undefined, finish: undefined })
  })
})

describe('a policy without a rule for requests', () => {
  it('is warned of once at start, unless the options name what to charge', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const keyless: RuleSpec = { name: 'per-user', limits: { rpm: 1 } }
    await guardOf({ rule: 'per-user' }, [keyless])
    await guardOf({}, [keyless, perAddress])
    expect(warn).not.toHaveBeenCalled()
    const { decide } = await guardOf({}, [keyless])
    for (let i = 0; i < 3; i++) expect((await decide()).denial).toBeUndefined()
    expect(warn.mock.calls.map(([, options]) => options)).toEqual([
      { type: 'SluiceWarning', code: 'SLUICE_NO_RULE_FOR_REQUESTS' },
    ])
    warn.mockRestore()
  })
})

describe('the names of limits', () => {
  it('are their own when there is one rule', async () => {
    const { decide } = await guardOf()
    expect(headersOf(await decide())['RateLimit-Policy']).toBe('"rpm";q=2;w=60')
  })
  it('have the rule before them when there are several', async () => {
    const rules = [perAddress, { name: 'all', key: 'const:all', limits: { rpm: 9, rps: 5 } }]
    const { decide } = await guardOf({}, rules)
    const items = parseList(headersOf(await decide())['RateLimit-Policy'] ?? '')
    expect(items.map(([name]) => name)).toEqual(['per-address/rpm', 'all/rps', 'all/rpm'])
  })
  it('are what the user says, in headers and problems alike', async () => {
    const { decide } = await guardOf({ policyName: ({ amount }) => `${amount} a minute`, cost: 3 })
    const outcome = await decide()
    expect(headersOf(outcome)['RateLimit-Policy']).toBe('"2 a minute";q=2;w=60')
    expect(outcome.denial?.problem['violated-policies']).toEqual(['2 a minute'])
  })
})

describe('a denial', () => {
  it('names only the limits that denied, and waits for the last of them', async () => {
    const rules: RuleSpec[] = [{ name: 'api', key: 'ip', limits: { rps: 9, rpm: 1, rph: 1 } }]
    const { decide } = await guardOf({}, rules)
    await decide()
    const outcome = await decide()
    expect(outcome.denial?.problem['violated-policies']).toEqual(['rpm', 'rph'])
    expect(Number(headersOf(outcome)['Retry-After'])).toBeGreaterThan(3590)
    expect(JSON.parse(outcome.denial?.body ?? '')).toEqual(outcome.denial?.problem)
  })
  it('of what costs more than a limit ever holds says that waiting is in vain', async () => {
    const { decide } = await guardOf({ cost: 3 })
    const outcome = await decide()
    expect(outcome.denial).toMatchObject({ status: 429, problem: { detail: expect.stringMatching(/not help/) } })
    expect(headersOf(outcome)['Retry-After']).toBe('2147483')
  })
  it('is never retried earlier for its jitter', async () => {
    const { decide } = await guardOf({ retryAfterJitter: '30s' })
    await decide()
    await decide()
    const seconds = []
    for (let i = 0; i < 50; i++) seconds.push(Number(headersOf(await decide())['Retry-After']))
    expect(Math.min(...seconds)).toBeGreaterThanOrEqual(59)
    expect(Math.max(...seconds)).toBeLessThanOrEqual(90)
    expect(new Set(seconds).size).toBeGreaterThan(5)
  })
})

describe('a shadow rule', () => {
  it('neither denies nor shows in the headers', async () => {
    const { decide } = await guardOf({}, [{ ...perAddress, limits: { rpm: 1 }, mode: 'shadow' }])
    await decide()
    const outcome = await decide()
    expect(outcome.denial).toBeUndefined()
    expect(outcome.decision?.shadow).toMatchObject([{ allowed: false }])
    expect(outcome.headers).toEqual([])
  })
})

describe('charges in code', () => {
  it('cost what a function says', async () => {
    const { decide } = await guardOf({ cost: (_, view) => Number(view.headers['x-cost']) })
    const outcome = await decide({ headers: { 'x-cost': '2' } })
    expect(outcome.decision?.limits[0]?.remaining).toBe(0)
  })
  it('let requests through that have no key', async () => {
    const { decide } = await guardOf({ key: (_, { headers }) => headers['x-user'] as string | undefined })
    for (let i = 0; i < 5; i++) expect((await decide()).decision).toBeUndefined()
    expect((await decide({ headers: { 'x-user': 'ann' } })).decision?.rule).toBe('per-address')
  })
  it('share a bucket where clients have no address', async () => {
    const { decide } = await guardOf({ rule: 'per-address' })
    for (let i = 0; i < 2; i++) expect((await decide({ ip: undefined })).denial).toBeUndefined()
    expect((await decide({ ip: undefined })).denial?.status).toBe(429)
  })
})

describe('the partition key', () => {
  it('tells partitions apart without telling what they are', async () => {
    const of = (_: unknown, { headers }: RequestView) => headers['x-api-key'] as string | undefined
    const { decide } = await guardOf({ partition: { of, secret: 'pepper' } })
    const pkOf = async (key?: string) => {
      const fields = headersOf(await decide({ headers: key === undefined ? {} : { 'x-api-key': key }, ip: key }))
      return Buffer.from(parseList(fields.RateLimit ?? '')[0]?.[1].get('pk') as ArrayBuffer).toString('latin1')
    }
    const [one, same, other] = [await pkOf('sk-1'), await pkOf('sk-1'), await pkOf('sk-2')]
    expect(one).toBe(same)
    expect(one).not.toBe(other)
    expect(one).not.toContain('sk-')
  })
})

describe('charging by outcome', () => {
  const end = { status: 200, bytes: 1, completed: true }

  it("spends all of it when the user's function fails, and says so", async () => {
    const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const chargeWhen = () => {
      throw new Error('my mistake')
    }
    const { decide, limiter } = await guardOf({ chargeWhen })
    const { finish } = await decide()
    finish?.(end)
    await vi.waitFor(async () => expect((await limiter.peek('203.0.113.1')).limits[0]?.remaining).toBe(1))
    expect(warnings.mock.calls[0]?.[0]).toMatch(/my mistake/)
    warnings.mockRestore()
  })
  it.each([Number.NaN, -5, Number.NEGATIVE_INFINITY, undefined, null, '0', { 'per-address': Number.NaN }])(
    'spends all of it when the function answers %s, and says so',
    async (charge) => {
      const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
      const { decide, limiter } = await guardOf({ chargeWhen: () => charge as number })
      const { finish } = await decide()
      finish?.(end)
      await vi.waitFor(async () => expect((await limiter.inspect('203.0.113.1')).holds).toEqual([]))
      expect((await limiter.peek('203.0.113.1')).limits[0]?.remaining).toBe(1)
      expect(warnings.mock.calls[0]?.[0]).toMatch(/is .*use true, false, or units/)
      warnings.mockRestore()
    },
  )
  it("spends all of it when the user's function names a rule that there is not, and says so", async () => {
    const warnings = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { decide, limiter } = await guardOf({ chargeWhen: () => ({ 'no-such-rule': 0 }) })
    const { finish } = await decide()
    finish?.(end)
    await vi.waitFor(() => expect(warnings.mock.calls[0]?.[0]).toMatch(/no-such-rule/))
    expect((await limiter.inspect('203.0.113.1')).holds).toEqual([])
    expect((await limiter.peek('203.0.113.1')).limits[0]?.remaining).toBe(1)
    warnings.mockRestore()
  })
  it('counts a response once, however often it ends', async () => {
    const chargeWhen = vi.fn(() => true)
    const { decide } = await guardOf({ chargeWhen })
    const { finish } = await decide()
    finish?.(end)
    finish?.({ ...end, completed: false })
    expect(chargeWhen).toHaveBeenCalledTimes(1)
  })
  it('keeps the hold of a long response alive', async () => {
    const clock = virtualClock()
    const { decide, limiter } = await guardOf({ chargeWhen: () => true }, [perAddress], memoryStore({ clock }), clock)
    const { finish } = await decide()
    await clock.advance(60_000)
    expect((await limiter.inspect('203.0.113.1')).holds).toHaveLength(1)
    finish?.(end)
    await clock.advance(1)
    expect((await limiter.inspect('203.0.113.1')).holds).toEqual([])
  })
})

describe('a limiter that was closed', () => {
  it('is answered with 503 and its code, as the framework cannot know why', async () => {
    for (const options of [{}, { maxDelay: '1s' }] as const) {
      const { decide, limiter } = await guardOf(options)
      await limiter.close()
      const { denial } = await decide()
      expect(denial).toMatchObject({ status: 503, problem: { code: 'SLUICE_CLOSED' } })
    }
  })
})

describe('waiting', () => {
  const options = { maxDelay: '2m', maxDelayed: 1 } as const

  it('ends at once when the client is gone, and makes room for another', async () => {
    const { decide } = await guardOf(options)
    await decide()
    await decide()
    const client = new AbortController()
    const first = decide({}, () => client.signal)
    await new Promise((resolve) => setImmediate(resolve))
    // Only one may wait.
    expect((await decide()).denial?.status).toBe(429)
    client.abort()
    expect((await first).denial?.status).toBe(429)
    const gone = AbortSignal.abort()
    expect((await decide({}, () => gone)).denial?.status).toBe(429)
  })
  it('lets the request pass when its turn has come, by the clock of the limiter', async () => {
    const clock = virtualClock()
    const { decide } = await guardOf(options, [perAddress], memoryStore({ clock }), clock)
    await decide()
    await decide()
    const third = decide()
    let isOver = false
    void third.then(() => {
      isOver = true
    })
    await clock.advance(59_999)
    expect(isOver).toBe(false)
    await clock.advance(1)
    expect((await third).denial).toBeUndefined()
  })
  it('is not begun when it would take too long', async () => {
    const { decide } = await guardOf({ ...options, maxDelay: 1000 })
    await decide()
    await decide()
    expect((await decide()).denial?.status).toBe(429)
  })
})

describe('options', () => {
  it.each([
    [{ onDeny: 'delay' }, /limiterGuard\.onDeny is "delay"; there is no such option/],
    [{ maxDelayMs: 1 }, /did you mean "maxDelay"/],
    [{ skip: { path: ['/a'] } }, /skip\.path .*did you mean "paths"/],
    [{ partition: { fo: () => 'x' } }, /partition\.fo .*did you mean "of"/],
    [{ maxDelay: -1 }, /maxDelay is -1/],
    [{ maxDelay: '25d' }, /maxDelay is "25d"/],
    [{ maxDelayed: -1 }, /maxDelayed is -1/],
    [{ retryAfterJitter: Number.NaN }, /retryAfterJitter is NaN/],
    [{ headers: 'draft-12' }, /headers is "draft-12"/],
    [{ skip: { paths: 'healthz' } }, /skip\.paths/],
    [{ skip: { paths: ['healthz'] } }, /skip\.paths is "healthz"/],
    [{ skip: { methods: 'HEAD' } }, /skip\.methods/],
  ])('%j are refused by name', async (options, message) => {
    await expect(guardOf(options as never)).rejects.toThrow(message)
  })
  it('skip nothing because a function answered with a promise, which is true to JavaScript', async () => {
    await expect(guardOf({ skip: { when: (async () => false) as never } })).rejects.toThrow('one that answers at once')
    const promises = [() => Promise.resolve(false), () => Promise.reject(new Error('no'))]
    for (const when of promises as unknown as (() => boolean)[]) {
      const { decide } = await guardOf({ skip: { when } })
      await expect(decide()).rejects.toThrow('skip.when returned a promise')
    }
  })

  it('have the defaults of what is undefined, as in options that are put together', async () => {
    const identity = { trustedProxies: undefined, forwardedBy: undefined, ipv6Prefix: undefined } as never
    expect(clientAddress(identity)('192.0.2.1', { headers: {} })).toBe('192.0.2.1')
    const { decide } = await guardOf({ skip: { paths: undefined, preflight: undefined } as never })
    expect((await decide({ path: '/healthz' })).decision).toBeUndefined()
  })

  it('skip what lies below a path', async () => {
    const { decide } = await guardOf({ skip: { paths: ['/static/*', '/about'] } })
    expect((await decide({ path: '/static/a/b.js' })).decision).toBeUndefined()
    expect((await decide({ path: '/about' })).decision).toBeUndefined()
    expect((await decide({ path: '/about/us' })).decision).toBeDefined()
    expect((await decide({ path: '/healthz' })).decision).toBeDefined()
  })
})
