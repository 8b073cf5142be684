import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { taggedCodec } from './codec.ts'

const roundTrip = (value: unknown) => taggedCodec.decode(taggedCodec.encode(value))

test('every value that is encoded is restored, with the same types', () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withNullPrototype: false,
    withSparseArray: false,
    key: fc.oneof(fc.string(), fc.constantFrom('$', '__proto__', 'constructor', 'toJSON')),
  })
  fc.assert(
    fc.property(anything, (value) => {
      const back = roundTrip(value)
      // Node does not treat two invalid dates as equal, so values with one are compared in their encoded form.
      const text = taggedCodec.encode(value)
      const isEqual = text.includes('["d",null]') ? taggedCodec.encode(back) === text : isDeepStrictEqual(back, value)
      expect(isEqual).toBe(true)
    }),
    { numRuns: 2000 },
  )
})

test('what JSON loses is kept', () => {
  const value = {
    at: new Date(5),
    never: new Date(Number.NaN),
    map: new Map([[1n, new Set([undefined])]]),
    minus: -0,
    bytes: Buffer.from([0, 255]),
    view: new Uint8Array([1, 2]),
    nan: Number.NaN,
    far: -Infinity,
    none: undefined,
  }
  expect(roundTrip(value)).toStrictEqual(value)
  expect(Buffer.isBuffer((roundTrip(value) as typeof value).bytes)).toBe(true)
})

test('decoding never changes a prototype', () => {
  for (const text of ['j{"__proto__":{"admin":true}}', 't{"a":{"$":["u",0]},"__proto__":{"admin":true}}']) {
    const value = taggedCodec.decode(text) as object
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
    expect(Object.hasOwn(value, '__proto__')).toBe(true)
  }
})

test('a value that could not be restored is refused', () => {
  class Money {}
  const loop: unknown[] = []
  loop.push(loop)
  for (const value of [new Money(), () => 1, Symbol('x'), loop, new Error('x'), { a: [new Money()] }])
    expect(() => taggedCodec.encode(value)).toThrow(/cannot be cached|circular/)
})

test('neither is one that only resembles what can be restored', () => {
  class Rows extends Array<unknown> {}
  class Index extends Map<number, number> {}
  class Day extends Date {}
  class Names extends Set<string> {}
  const values = [
    ...[Rows.from([1]), new Index([[1, 2]]), new Day(5), new Names(['a'])],
    ...[new Array(2), Object.assign([], { 0: 1, 2: 3 })],
    ...[Object.assign(new Map(), { x: 1 }), Object.assign(new Date(1), { x: 1 })],
    ...[new Uint16Array(2), new Proxy(new Map(), {})],
  ]
  for (const value of values) {
    expect(() => taggedCodec.encode(value)).toThrow()
    expect(() => taggedCodec.encode({ inside: [value] })).toThrow()
  }
})

test('fields that were added to an array are no part of it', () => {
  const rows = Object.assign([1, 2], { count: 2, toJSON: () => 'x' })
  expect(roundTrip(rows)).toStrictEqual([1, 2])
  expect(roundTrip({ rows: [rows] })).toStrictEqual({ rows: [[1, 2]] })
})

test('damaged text throws, and only that', () => {
  for (const text of ['', 'x1', 'j{', 't{"$":["?",1]}', 't{"$":1}', 't{"$":["i","x"]}', 't{"$":["m",1]}'])
    expect(() => taggedCodec.decode(text)).toThrow()
})
