import { expect, expectTypeOf, test } from 'vitest'
import { decodeKey } from '../../core/key.ts'
import { DefinedKey, prefixScopes, tag } from './cache-key.ts'
import { defineKeys, key } from './define-keys.ts'

const keys = defineKeys({
  price: key('price', ['assetId'], { ttl: '60s' }),
  ohlc: key('ohlc', ['assetId', 'interval', 'start'], {
    ttl: (candle: { closed: boolean }) => (candle.closed ? 'forever' : '1h'),
  }),
  assets: key('assets', []),
})

test('a key is spelled by the encoder of the limiter and reads back', () => {
  expect(keys.price('XLM').encoded).toBe('price/XLM')
  expect(keys.price('a/b {x}').encoded).toBe('price/a%002fb%0020%007bx%007d')
  expect(decodeKey(keys.ohlc('a/b', '1h', 5).encoded)).toEqual(['ohlc', 'a/b', '1h', 5])
  expect(keys.assets().encoded).toBe('assets')
})

test('distinct tuples have distinct keys', () => {
  const made = [keys.price('1'), keys.price(1), keys.price('a/b'), keys.ohlc('a', 'b', ''), keys.ohlc('a', '', 'b')]
  expect(new Set(made.map((each) => each.encoded)).size).toBe(made.length)
})

test('every prefix of a key covers it, and none that only starts with the same text', () => {
  const covering = prefixScopes(keys.ohlc('XLM', '1h', 0).encoded)
  expect(covering).toContain(keys.ohlc.prefix().scope)
  expect(covering).toContain(keys.ohlc.prefix('XLM').scope)
  expect(covering).toContain(keys.ohlc.prefix('XLM', '1h').scope)
  expect(covering).not.toContain(keys.ohlc.prefix('XL').scope)
  expect(prefixScopes(keys.assets().encoded)).toContain(keys.assets.prefix().scope)
})

test('the number of parts is checked by the types and at run time', () => {
  expectTypeOf(keys.price).parameters.toEqualTypeOf<[string | number | boolean]>()
  // @ts-expect-error a part is missing
  expect(() => keys.price()).toThrow('exactly 1 part (assetId)')
  expect(() => keys.price.prefix('XLM')).toThrow('invalidate the key itself')
  expect(keys.price('XLM')).toBeInstanceOf(DefinedKey)
})

test('a tag, a key and a prefix of the same text are three scopes', () => {
  expect(new Set([tag('assets').scope, keys.assets().scope, keys.assets.prefix().scope]).size).toBe(3)
})

test('the error for a wrong definition names the option, the value and the remedy', () => {
  expect(() => defineKeys({ a: key('x', []), b: key('x', ['y']) })).toThrow('already defined by a')
  expect(() => key('x', [], { tll: '1s' } as never)).toThrow('did you mean "ttl"?')
  expect(() => key('x', [], { ttl: '1 parsec' })).toThrow('key("x").ttl is "1 parsec"')
  expect(() => key('x', [], { ttl: 0 })).toThrow('at least 1 ms')
})
