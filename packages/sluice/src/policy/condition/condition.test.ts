import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compilePolicy } from '../compile/compile-policy.ts'
import type { ConditionSpec, MatchSpec, PolicyDocument } from '../document/document.ts'
import { type RequestView, unreadableBody } from '../request-view.ts'

const request = (more: Partial<RequestView> = {}): RequestView => ({ method: 'GET', path: '/', headers: {}, ...more })

function policyWith(match: MatchSpec, more: Partial<PolicyDocument> = {}) {
  const rule = { name: 'r', key: 'const:all', limits: { rpm: 1 }, match }
  return compilePolicy({ service: 's', rules: [rule], ...more })
}

const matches = (match: MatchSpec, view: RequestView, nowMs = 0, more: Partial<PolicyDocument> = {}): boolean =>
  policyWith(match, more).match(view, nowMs).rules.length === 1

describe('a condition', () => {
  const header = (wanted: ConditionSpec, value: string | undefined) =>
    matches({ headers: { x: wanted } }, request({ headers: value === undefined ? {} : { x: value } }))

  it.each<[ConditionSpec, string | undefined, boolean]>([
    [{ not: 'a' }, 'a', false],
    [{ not: 'a' }, 'b', true],
    [{ not: 'a' }, undefined, true],
    [{ not: ['a', 'b'] }, 'b', false],
    [{ exists: true, not: 'a' }, undefined, false],
    [{ prefix: 'multipart/' }, 'multipart/form-data', true],
    [{ prefix: ['a', 'b'] }, 'c', false],
    [{ like: 'a*' }, 'a', true],
    [{ like: 'a*a' }, 'a', false],
    [{ like: ['/x/*', '/files/*.pdf'] }, '/files/a.pdf', true],
    [{ like: 'a*b*b*c' }, 'abc', false],
    [{ like: 'a*b*b*c' }, 'axbybc', true],
    [{ like: 'a*', not: { like: '*z' } }, 'abz', false],
    [{ like: 'A*b', ignoreCase: true }, 'acB', true],
    [{ like: '*' }, undefined, false],
    [{ prefix: 'a', not: { is: 'ab' } }, 'ab', false],
    [{ prefix: 'a', not: { is: 'ab' } }, 'ac', true],
    [{ is: 'Bearer', ignoreCase: true }, 'bEARER', true],
    [{ prefix: 'BOT', ignoreCase: true }, 'botnet', true],
    [{ above: 10 }, '10', false],
    [{ above: 10 }, '10.5', true],
    [{ atLeast: 1, below: 10 }, '1', true],
    [{ atLeast: 1, below: 10 }, '10', false],
    [{ atMost: -1 }, '-2', true],
    [{ above: 1e3 }, undefined, false],
    [{ not: { above: 1e3 } }, undefined, true],
  ])('%j on %j', (wanted, value, holds) => expect(header(wanted, value)).toBe(holds))

  it('on a number holds for what is no plain number, and so does its opposite', () => {
    for (const tokens of ['0x10', ' 12 ', 'many', [], { n: 1 }, null]) {
      expect(matches({ body: { tokens: { above: 1000 } } }, request({ body: { tokens } })), String(tokens)).toBe(
        tokens !== null,
      )
      expect(matches({ body: { tokens: { not: { above: 1000 } } } }, request({ body: { tokens } }))).toBe(true)
    }
  })

  it('on something unreadable holds, and so does its opposite', () => {
    const kinds: ConditionSpec[] = ['a', { prefix: 'a' }, { above: 1 }, { is: 'a', ignoreCase: true }, { in: 'l' }]
    const throwing = {
      ...request(),
      get context(): never {
        throw new Error('no')
      },
    }
    for (const wanted of kinds) {
      for (const each of [wanted, { not: wanted as never }]) {
        const lists = { lists: { l: ['a'] } }
        expect(matches({ body: { a: each } }, request({ body: unreadableBody }), 0, lists), JSON.stringify(each)).toBe(
          true,
        )
        expect(matches({ context: { a: each } }, throwing, 0, lists), JSON.stringify(each)).toBe(true)
      }
    }
    for (const ip of [undefined, 'unknown'])
      for (const wanted of ['10.0.0.0/8', { not: '10.0.0.0/8' }])
        expect(matches({ ip: wanted }, request({ ip }))).toBe(true)
  })

  it('on a field that comes several times holds where one of its values fits', () => {
    const query = (a: unknown) => request({ query: { a } })
    expect(matches({ query: { a: { prefix: 'x' } } }, query(['y', 'xz']))).toBe(true)
    expect(matches({ query: { a: { not: 'x' } } }, query(['x', 'y']))).toBe(true)
    expect(matches({ query: { a: { not: 'x' } } }, query(['x', 'x']))).toBe(false)
  })

  it('reads cookies, host and context', () => {
    const cookie = (text: string) => request({ headers: { cookie: text } })
    expect(matches({ cookies: { plan: 'p/1' } }, cookie('a=b; plan=p%2F1'))).toBe(true)
    expect(matches({ cookies: { plan: { exists: false } } }, cookie('planet=1; x=plan'))).toBe(true)
    expect(matches({ cookies: { plan: { not: 'pro' } } }, cookie('plan=pro; plan=free'))).toBe(true)
    const host = (text: string) => request({ headers: { host: text } })
    expect(matches({ host: 'api.example.com' }, host('API.example.com.:8443'))).toBe(true)
    expect(matches({ host: { prefix: 'api.' } }, host('www.example.com'))).toBe(false)
    expect(matches({ context: { 'user.plan': { not: 'pro' } } }, request({ context: { user: { plan: 'pro' } } }))).toBe(
      false,
    )
  })

  it.each<[MatchSpec, RegExp]>([
    [{ headers: { x: {} } }, /match.headers.x is an object; say what the field must be/],
    [{ headers: { x: { ignoreCase: true } } }, /it goes with is, prefix, like or in/],
    [{ headers: { x: { like: 'plain' } } }, /match.headers.x.like is "plain"; write a \* where any characters may be/],
    [{ headers: { x: { in: 'partner' } } }, /no list of that name; did you mean "partners"/],
    [{ ip: 'office' }, /use an address or a network/],
    [{ ip: { in: 'partners' } }, /lists.partners\[0\] is "acme-\*"; use an address or a network/],
    [{ time: { hours: '9-17' } }, /match.time.hours is "9-17"; use hours such as 09:00-17:00/],
    [{ time: { days: ['mon', 'son'] } }, /match.time.days\[1\] is "son"; use mon, tue/],
    [{ time: { days: 'mon', zone: 'Berlin' } }, /IANA zone/],
    [{ time: {} }, /give hours/],
  ])('is refused with the remedy: %j', (match, message) => {
    expect(() => policyWith(match, { lists: { partners: ['acme-*'] } })).toThrow(message)
  })
})

describe('a list', () => {
  const now = Date.UTC(2027, 0, 15)

  it('names keys and prefixes for conditions, each until its end', () => {
    const lists = {
      partners: ['acme', 'corp-*', 7, { value: 'old', until: '2027-01-01' }, { value: 'new', from: '2027-02-01' }],
    }
    const isIn = (tenant: string, nowMs = now) =>
      matches({ headers: { t: { in: 'partners' } } }, request({ headers: { t: tenant } }), nowMs, { lists })
    expect(['acme', 'corp-1', '7', 'acme2', 'old', 'new'].map((tenant) => isIn(tenant))).toEqual([
      true,
      true,
      true,
      false,
      false,
      false,
    ])
    expect(isIn('old', Date.UTC(2026, 11, 31))).toBe(true)
    expect(isIn('new', Date.UTC(2027, 1, 1))).toBe(true)
  })

  it('names networks, and an IPv6 client is known by its block', () => {
    const lists = {
      blocked: [
        '10.0.0.0/8',
        '192.0.2.7',
        '2001:db8::/32',
        '2001:db9::1',
        { value: '198.51.100.0/24', until: '2027-01-01' },
      ],
    }
    const isIn = (ip: string) => matches({ ip: { in: 'blocked' } }, request({ ip }), now, { lists })
    for (const ip of ['10.1.2.3', '192.0.2.7', '2001:db8:1:2::/64', '2001:db9::/64', '2001:db9::1'])
      expect(isIn(ip), ip).toBe(true)
    for (const ip of ['11.0.0.0', '192.0.2.8', '2001:db9:0:1::/64', '2001:db9::2', '198.51.100.1'])
      expect(isIn(ip), ip).toBe(false)
    expect(matches({ ip: { not: { in: 'blocked' } } }, request({ ip: '10.0.0.1' }), now, { lists })).toBe(false)
  })

  it('agrees with a model over random lists, times and requests, and so does its opposite', () => {
    const octets = fc.tuple(fc.constantFrom(10, 11), fc.constantFrom(0, 1, 128), fc.constantFrom(0, 255), fc.nat(3))
    const entry = fc.record({
      octets,
      bits: fc.constantFrom(0, 8, 9, 16, 24, 31, 32),
      until: fc.option(fc.integer({ min: 1, max: 9 })),
    })
    const number = (o: readonly number[]) => o.reduce((sum, each) => sum * 256 + each, 0)
    fc.assert(
      fc.property(
        fc.uniqueArray(entry, { maxLength: 8, selector: ({ octets, bits }) => `${octets}/${bits}` }),
        octets,
        fc.nat(10),
        fc.boolean(),
        (entries, client, day, isNot) => {
          const at = (d: number) => Date.UTC(2027, 0, 1 + d)
          const expected = entries.some(({ octets: o, bits, until }) => {
            const size = 2 ** (32 - bits)
            return Math.floor(number(o) / size) === Math.floor(number(client) / size) && (until === null || day < until)
          })
          const lists = {
            l: entries.map(({ octets: o, bits, until }) => ({
              value: `${o.join('.')}/${bits}`,
              ...(until === null ? {} : { until: at(until) }),
            })),
          }
          const wanted = isNot ? { not: { in: 'l' } } : { in: 'l' }
          expect(matches({ ip: wanted }, request({ ip: client.join('.') }), at(day), { lists })).toBe(
            expected !== isNot,
          )
        },
      ),
    )
  })
})

describe('a time', () => {
  const at = (text: string) => Date.parse(text)
  const office = { hours: '09:00-17:00', days: 'mon-fri', zone: 'Europe/Berlin' }

  it('is hours and days on the wall clock of a zone', () => {
    const holds = (text: string) => matches({ time: office }, request(), at(text))
    expect(holds('2027-01-15T08:00:00Z')).toBe(true)
    expect(holds('2027-01-15T07:59:59Z')).toBe(false)
    expect(holds('2027-01-15T16:00:00Z')).toBe(false)
    expect(holds('2027-01-16T10:00:00Z')).toBe(false)
    // In summer the clock is an hour further.
    expect(holds('2027-07-15T07:00:00Z')).toBe(true)
    expect(matches({ time: { not: office } }, request(), at('2027-01-16T10:00:00Z'))).toBe(true)
  })

  it('that passes midnight belongs to the day on which it begins', () => {
    const night = { hours: '22:00-06:00', days: ['fri'] }
    const holds = (text: string) => matches({ time: night }, request(), at(text))
    expect(['2027-01-15T22:00:00Z', '2027-01-16T05:59:00Z'].map(holds)).toEqual([true, true])
    expect(['2027-01-15T05:00:00Z', '2027-01-16T06:00:00Z', '2027-01-16T22:00:00Z'].map(holds)).toEqual([
      false,
      false,
      false,
    ])
  })

  it('agrees with the wall clock of the runtime at any minute', () => {
    const minute = fc.integer({ min: at('2026-01-01T00:00:00Z') / 60_000, max: at('2028-01-01T00:00:00Z') / 60_000 })
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe')
    fc.assert(
      fc.property(minute, zone, fc.nat(23), fc.nat(23), (m, zone, from, to) => {
        fc.pre(from !== to)
        const two = (hour: number) => `${String(hour).padStart(2, '0')}:00`
        const text = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', hourCycle: 'h23' }).format(
          m * 60_000,
        )
        const hour = Number(text)
        const expected = from < to ? hour >= from && hour < to : hour >= from || hour < to
        expect(matches({ time: { hours: `${two(from)}-${two(to)}`, zone } }, request(), m * 60_000)).toBe(expected)
      }),
    )
  })
})
