import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LargeMap } from './large-map.ts'

/** More than stand in the small map. */
const many = 40_000

test('says what a map says, however many entries it has', () => {
  const large = new LargeMap<number>()
  const map = new Map<string, number>()
  for (let i = 0; i < many; i++) {
    large.set(`key-${i}`, i)
    map.set(`key-${i}`, i)
  }
  const step = fc.tuple(fc.constantFrom('get', 'get', 'get', 'set', 'delete'), fc.nat({ max: many + 100 }), fc.nat())
  fc.assert(
    fc.property(fc.array(step, { maxLength: 1000, size: 'max' }), (steps) => {
      for (const [kind, at, value] of steps) {
        // Few keys, so that most are asked for again, and some others.
        const key = `key-${at % 3 === 0 ? at : at % 50}`
        if (kind === 'set') {
          large.set(key, value)
          map.set(key, value)
        } else if (kind === 'delete') expect(large.delete(key)).toBe(map.delete(key))
        expect(large.get(key)).toBe(map.get(key))
        expect(large.size).toBe(map.size)
      }
      expect(large.keys().next()).toEqual(map.keys().next())
    }),
    { numRuns: 50 },
  )
})

test('finds all entries again when more were asked for than stand in the small map', () => {
  const large = new LargeMap<number>()
  for (let i = 0; i < many; i++) large.set(`key-${i}`, i)
  for (let pass = 0; pass < 2; pass++) for (let i = 0; i < many; i++) expect(large.get(`key-${i}`)).toBe(i)
})
