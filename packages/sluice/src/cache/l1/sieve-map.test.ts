import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SieveMap } from './sieve-map.ts'

const entry = (bytes: number) => ({ bytes })

test('never holds more entries or bytes than it may, whatever is done to it', () => {
  const step = fc.tuple(
    fc.constantFrom('set', 'get', 'delete'),
    fc.integer({ min: 0, max: 20 }),
    fc.integer({ min: 1, max: 60 }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const map = new SieveMap<{ bytes: number }>(8, 100)
      const model = new Map<string, { bytes: number }>()
      for (const [name, id, bytes] of steps) {
        const key = `${id}`
        if (name === 'get') {
          const found = map.get(key)
          if (found !== undefined) expect(found).toBe(model.get(key))
        } else if (name === 'delete') {
          map.delete(key)
          expect(map.peek(key)).toBeUndefined()
        } else {
          const value = entry(bytes)
          map.set(key, value)
          model.set(key, value)
          expect(map.peek(key)).toBe(value)
        }
        const held = [...map.entries()]
        expect(held.length).toBe(map.size)
        expect(held.reduce((sum, [, value]) => sum + value.bytes, 0)).toBe(map.bytes)
        expect(map.size).toBeLessThanOrEqual(8)
        expect(map.bytes).toBeLessThanOrEqual(100)
      }
    }),
    { numRuns: 500 },
  )
})

test('a value larger than the whole map is not kept, and what it replaces is gone', () => {
  const map = new SieveMap<{ bytes: number }>(10, 100)
  map.set('a', entry(10))
  map.set('a', entry(101))
  expect(map.get('a')).toBeUndefined()
  expect(map.bytes).toBe(0)
})

test('a scan of keys that are read once leaves the keys in use', () => {
  const map = new SieveMap<{ bytes: number }>(100, 1e6)
  for (let i = 0; i < 50; i++) map.set(`hot${i}`, entry(1))
  for (let i = 0; i < 1000; i++) {
    for (let hot = 0; hot < 50; hot++) map.get(`hot${hot}`)
    map.set(`scan${i}`, entry(1))
  }
  for (let i = 0; i < 50; i++) expect(map.peek(`hot${i}`)).toBeDefined()
})
