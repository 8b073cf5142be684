import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeKey,
  encodeKey,
  type Key,
  type KeyPart,
  keyPartAt,
  keyPrefix,
  maxPartLength,
  parseReadableKey,
} from './key.ts'
import { sha256 } from './sha256.ts'

/** Any UTF-16 units, with the characters that mean something in keys more often than others. */
const unit = fc.oneof(
  fc.constantFrom(...':_|./\0%#~{}[]\r\n "\\\u{2028}', '\ud800', '\udc00', 'a', 'b', '0', '1'),
  fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
)
const text = fc.array(unit, { maxLength: 12 }).map((units) => units.join(''))
const part: fc.Arbitrary<KeyPart> = fc.oneof(
  text,
  fc.boolean(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.constantFrom('true', 'false', '1', '-0', '#1', '#true', '~', '__proto__', 'constructor.prototype', ''),
)
const tuple = fc.array(part, { minLength: 1, maxLength: 5 })

/** -0 and 0 are one subject. */
const normal = (parts: readonly KeyPart[]): KeyPart[] => parts.map((each) => (Object.is(each, -0) ? 0 : each))
const same = (a: readonly KeyPart[], b: readonly KeyPart[]): boolean =>
  a.length === b.length && normal(a).every((each, i) => Object.is(each, normal(b)[i]))

describe('a key', () => {
  it('is never the key of another tuple', () => {
    fc.assert(
      fc.property(tuple, tuple, (a, b) => {
        expect(encodeKey(a) === encodeKey(b)).toBe(same(a, b))
      }),
      { numRuns: 5000 },
    )
  })

  it('is never the key of a tuple that was split elsewhere', () => {
    const pieces = fc.array(fc.constantFrom(...':/_|.%#~\0', 'a', '', '2f', '%002f'), { minLength: 2, maxLength: 6 })
    fc.assert(
      fc.property(pieces, fc.nat(), fc.nat(), (list, i, j) => {
        const cut = (at: number): string[] => [list.slice(0, at).join(''), list.slice(at).join('')]
        const [a, b] = [cut(i % (list.length + 1)), cut(j % (list.length + 1))]
        expect(encodeKey(a) === encodeKey(b)).toBe(same(a, b))
      }),
      { numRuns: 5000 },
    )
  })

  it('reads back as what it was', () => {
    fc.assert(
      fc.property(tuple, (parts) => {
        expect(decodeKey(encodeKey(parts))).toEqual(normal(parts))
      }),
      { numRuns: 5000 },
    )
  })

  it('gives each part by itself, and none beyond its last', () => {
    fc.assert(
      fc.property(tuple, fc.nat(6), (parts, index) => {
        const encoded = encodeKey(parts)
        expect(keyPartAt(encoded, index)).toEqual(decodeKey(encoded)[index])
      }),
      { numRuns: 2000 },
    )
  })

  it('is printable ASCII without braces, and only parts are divided by slashes', () => {
    fc.assert(
      fc.property(tuple, (parts) => {
        const encoded = encodeKey(parts)
        expect(encoded).toMatch(/^[!-z|~]*$/)
        expect(encoded.split('/')).toHaveLength(parts.length)
      }),
      { numRuns: 5000 },
    )
  })

  it('of one text is that of the tuple with only this text', () => {
    fc.assert(fc.property(text, (only) => encodeKey(only) === encodeKey([only])))
  })

  it('keeps long parts as a hash, told apart from each other and from short parts that spell the same', () => {
    const long = 'x'.repeat(maxPartLength + 1)
    const [one, two] = [encodeKey(long), encodeKey(`${long}y`)]
    expect(one).toMatch(/^~[0-9a-f]{64}$/)
    expect(one).not.toBe(two)
    expect(encodeKey(one)).not.toBe(one)
    expect(encodeKey('x'.repeat(maxPartLength))).toBe('x'.repeat(maxPartLength))
    expect(encodeKey(`${'y'.repeat(1_000_000)}\ud800`)).not.toBe(encodeKey(`${'y'.repeat(1_000_000)}\ud801`))
  })

  it.each([
    undefined,
    null,
    5,
    true,
    {},
    [],
    [undefined],
    [null],
    [Number.NaN],
    [Infinity],
    [{}],
    [['a']],
    [Symbol('a')],
    [1n],
    new Array(33).fill('a'),
  ])('that names no subject is refused: %s', (wrong) => {
    expect(() => encodeKey(wrong as Key)).toThrowError(expect.objectContaining({ code: 'SLUICE_INVALID_KEY' }))
  })

  it('has a readable form, and the way back', () => {
    expect(keyPrefix('sentiment-service', 'tenant-language') + encodeKey(['client-corp', 'en'])).toBe(
      'sentiment-service/tenant-language/client-corp/en',
    )
    const words = text.filter((word) => word !== '' && word.length <= maxPartLength)
    fc.assert(
      fc.property(words, words, tuple, (service, rule, key) => {
        const readable = keyPrefix(service, rule) + encodeKey(key)
        expect(parseReadableKey(readable)).toEqual({ service, rule, key: normal(key) })
      }),
      { numRuns: 5000 },
    )
    const long = encodeKey(['a', 'x'.repeat(maxPartLength + 1), 1])
    const { key } = parseReadableKey(`s/r/${long}`)
    expect(encodeKey(key), 'a part that was too long is read back by its hash').toBe(long)
    expect(encodeKey(key.map(String)), 'which the text that spells it is not').not.toBe(long)
    for (const wrong of ['', 'a', 'a/b', '/b/c', 'a//c']) {
      expect(() => parseReadableKey(wrong)).toThrowError(expect.objectContaining({ code: 'SLUICE_INVALID_KEY' }))
    }
  })
})

describe('sha256', () => {
  const reference = (value: string): string => {
    const bytes = Buffer.alloc(value.length * 2)
    for (let i = 0; i < value.length; i++) bytes.writeUInt16BE(value.charCodeAt(i), i * 2)
    return createHash('sha256').update(bytes).digest('hex')
  }

  it('is that of node:crypto for every length around the block boundaries', () => {
    for (let length = 0; length < 200; length++) {
      const value = Array.from({ length }, (_, i) => String.fromCharCode((i * 40_503) & 0xffff)).join('')
      expect(sha256(value)).toBe(reference(value))
    }
  })

  it('is that of node:crypto for anything', () => {
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 500 }), (units) => {
        expect(sha256(units.join(''))).toBe(reference(units.join('')))
      }),
      { numRuns: 500 },
    )
    expect(sha256('é'.repeat(1_000_000))).toBe(reference('é'.repeat(1_000_000)))
  })
})
