import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RequestView } from '../request-view.ts'
import { compileSelector } from './compile-selector.ts'
import { transformOf } from './parse-selector.ts'
import type { Captured, Selector } from './selector.ts'

const request: RequestView = {
  method: 'POST',
  path: '/v1/users/7',
  route: '/v1/users/:id',
  headers: { 'x-api-key': 'secret', 'x-two': ['a', 'b'], 'x-none': [] },
  query: { model: 'V2', empty: '', twice: ['a', 'b'] },
  params: { id: '7' },
  body: { tenant_id: 'acme', items: [{ id: 41 }, { id: 0 }], ok: true, 'a.b': 'dotted', nan: Number.NaN, nil: null },
  ip: '192.0.2.77',
}

function read(text: string, from: RequestView = request, captured?: Captured): string | undefined {
  return (compileSelector(text) as Selector).read(from, captured)
}

describe('a selector', () => {
  it.each([
    ['headers.x-api-key', 'secret'],
    ['headers.X-Api-Key', 'secret'],
    ['headers.x-two', 'a, b'],
    ['query.model', 'V2'],
    ['params.id', '7'],
    ['body.tenant_id', 'acme'],
    ['body.items[0].id', '41'],
    ['body.items[1].id', '0'],
    ['body.items.1.id', '0'],
    ['body["a.b"]', 'dotted'],
    ['body.ok', 'true'],
    ['ip', '192.0.2.77'],
    ['method', 'POST'],
    ['route', '/v1/users/:id'],
    ['path', '/v1/users/7'],
    ['const:global', 'global'],
    ['const:"a | b"', 'a | b'],
    ['query.version ?? v1', 'v1'],
    ["query.version ?? 'v 1 ?? x'", 'v 1 ?? x'],
    ['query.model ?? v1', 'V2'],
    ['query.model | lower', 'v2'],
    ['query.version??V1|lower', 'v1'],
    ['ip | subnet', '192.0.2.0/24'],
    ['ip | subnet(16, 48)', '192.0.0.0/16'],
    ['body.tenant_id | subnet ?? no-address', 'no-address'],
  ])('%s reads %s', (text, value) => expect(read(text)).toBe(value))

  it('hashes what must not be seen', () => {
    expect(read('headers.x-api-key | hash')).toMatch(/^[0-9a-f]{64}$/)
  })

  it.each([
    'headers.other',
    'headers.x-none',
    'query.empty',
    'query.twice',
    'body.items',
    'body.nan',
    'body.nil',
    'body.tenant_id.length',
    'body.items.length.x',
    'body.items[9].id',
    'body.__proto__',
    'body.constructor',
    'body.constructor.name',
    'body.items.constructor.prototype',
    'headers.__proto__',
    'headers.constructor',
    'query.toString',
    'params.hasOwnProperty',
  ])('%s is missing', (text) => expect(read(text)).toBeUndefined())

  it('takes numbers and booleans for the text that spells them, because the sender chooses the type', () => {
    for (const [a, b] of [
      [1, '1'],
      [true, 'true'],
      [-0, '0'],
    ]) {
      expect(read('body.x', { ...request, body: { x: a } })).toBe(read('body.x', { ...request, body: { x: b } }))
    }
  })

  it('reads what instances of classes have, of the context alone', () => {
    class User {
      get id(): string {
        return 'ada'
      }
    }
    expect(read('context.user.id', { ...request, context: { user: new User() } })).toBe('ada')
    expect(read('context.user.toString', { ...request, context: { user: new User() } })).toBeUndefined()
    expect(read('body.id', { ...request, body: new User() })).toBeUndefined()
  })

  it('reads an own field called __proto__, and nothing that is inherited', () => {
    expect(read('body.__proto__.x', { ...request, body: JSON.parse('{"__proto__":{"x":"own"}}') })).toBe('own')
    expect(read('body.x', { ...request, body: Object.create({ x: 'inherited' }) })).toBeUndefined()
  })

  it('takes a getter that throws for a missing field', () => {
    const trap = {
      get x(): string {
        throw new Error('no')
      },
    }
    expect(read('body.x', { ...request, body: trap })).toBeUndefined()
    const view = {
      ...request,
      get body(): unknown {
        throw new Error('not parsed')
      },
    }
    expect(read('body.x ?? none', view)).toBe('none')
  })

  it('takes what the path captured when the framework gave no such parameter', () => {
    expect(read('params.doc', request, { names: ['doc'], values: ['d1'] })).toBe('d1')
    expect(read('params.id', request, { names: ['id'], values: ['other'] })).toBe('7')
  })

  it('never throws and never reads anything but text, whatever the request is', () => {
    const texts = ['body.a.b[0]', 'query.a', 'headers.a', 'params.a', 'ip | subnet', 'path | lower', 'route', 'method']
    fc.assert(
      fc.property(
        fc.anything({ withNullPrototype: true, withBigInt: true, maxDepth: 3 }),
        fc.constantFrom(...texts),
        (thing, text) => {
          for (const view of [
            thing,
            { headers: thing, query: thing, params: thing, body: thing, ip: thing, path: thing },
          ]) {
            if (typeof view !== 'object' || view === null) continue
            const value = read(text, view as RequestView)
            expect(value === undefined || (typeof value === 'string' && value !== '')).toBe(true)
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  it.each([
    ['en', 'a constant is written const:en'],
    ['bdy.x', 'did you mean "body."?'],
    ['header.x', 'did you mean "headers."?'],
    ['body', 'name one field of it'],
    ['headers', 'name one field of it'],
    ['headers.', 'write the name of a header'],
    ['headers.a b', 'write the name of a header'],
    ['body.', 'write the path of a field'],
    ['body..x', 'write the path of a field'],
    ['body.x[', 'write the path of a field'],
    ['body.x[-1]', 'write the path of a field'],
    [`body${'.x'.repeat(17)}`, 'write the path of a field'],
    ['const:', 'write the constant'],
    ['ip ??', 'write a default'],
    ['headers.x ?? ip', 'a default is plain text'],
    ['headers.x ?? body.y', 'a default is plain text'],
    ['ip | lowr', 'did you mean "lower"?'],
    ['ip | subnet(33, 64)', 'no transform'],
    ['ip ?? "x', 'a quotation mark is not closed'],
    ['', 'no such thing'],
  ])('%j is refused', (text, message) => expect(compileSelector(text)).toContain(message))

  it('is refused or made of any text, without ever throwing', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => void compileSelector(text)))
  })
})

describe('a subnet', () => {
  it.each([
    ['192.0.2.77', '192.0.2.0/24'],
    ['::ffff:192.0.2.77', '192.0.2.0/24'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::/64', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['::', '::/64'],
    ['[2001:db8:1:2::1]:443', '2001:db8:1:2::/64'],
    ['1.2.3.256', undefined],
    ['010.2.3.4', undefined],
    ['1.2.3.4::', undefined],
    ['1.2.3', undefined],
    ['1:2:3', undefined],
    ['1::2::3', undefined],
    [':::', undefined],
    ['1:2:3:4:5:6:7:8:9', undefined],
    ['unknown', undefined],
  ])('of %s is %s', (address, network) => expect(transformOf('subnet')!(address)).toBe(network))

  it.each([
    ['subnet(0, 0)', '203.0.113.9', '0.0.0.0/0'],
    ['subnet(0, 0)', '2001:db8::1', '::/0'],
    ['subnet(32, 128)', '203.0.113.9', '203.0.113.9/32'],
    ['subnet(9, 128)', '203.200.113.9', '203.128.0.0/9'],
    ['subnet(32, 128)', '2001:db8::1', '2001:db8::1/128'],
  ])('as %s of %s is %s', (text, address, network) => expect(transformOf(text)!(address)).toBe(network))
})
