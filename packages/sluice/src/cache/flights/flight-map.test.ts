import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { FlightMap } from './flight-map.ts'

test('a key has its flight until it ends', () => {
  const map = new FlightMap<{ id: number }>()
  const slot = map.slot('a')
  expect([map.get('a'), map.size]).toEqual([undefined, 0])
  map.begin(slot, { id: 1 })
  expect([map.get('a'), map.get('b'), map.size, map.flights()]).toEqual([{ id: 1 }, undefined, 1, [{ id: 1 }]])
  map.end(slot, map.get('a')!)
  expect([map.get('a'), map.size, map.flights()]).toEqual([undefined, 0, []])
  expect(map.slot('a')).toBe(slot)
})

test('the end of a flight that was replaced leaves the one in its place', () => {
  const map = new FlightMap<{ id: number }>()
  const [first, second] = [{ id: 1 }, { id: 2 }]
  map.begin(map.slot('a'), first)
  map.begin(map.slot('a'), second)
  map.end(map.slot('a'), first)
  expect([map.get('a'), map.size]).toEqual([second, 1])
  map.end(map.slot('a'), second)
  map.end(map.slot('a'), second)
  expect([map.get('a'), map.size]).toEqual([undefined, 0])
})

test('keeps a bounded number of keys without a flight, and all that have one', () => {
  const map = new FlightMap<string>()
  for (let i = 0; i < 100; i++) map.begin(map.slot(`in flight ${i}`), `flight ${i}`)
  let most = 0
  for (let i = 0; i < 50_000; i++) {
    const slot = map.slot(`key ${i}`)
    map.begin(slot, 'short')
    map.end(slot, 'short')
    most = Math.max(most, map.keys)
  }
  expect(most).toBeLessThan(5000)
  expect(map.size).toBe(100)
  for (let i = 0; i < 100; i++) expect(map.get(`in flight ${i}`)).toBe(`flight ${i}`)
})

test('what has ended is freed by minor collections', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void
  const map = new FlightMap<object>()
  const inFlight: [string, object][] = []
  // A full collection moves what it finds, such as the tables of a Map, to old space.
  map.slot('first')
  collect()
  collect()
  const before = getHeapStatistics().used_heap_size
  for (let i = 0; i < 20_000; i++) {
    const key = `key ${i % 2000}`
    const flight = new Array(128).fill(i)
    map.begin(map.slot(key), flight)
    inFlight.push([key, flight])
    if (inFlight.length < 512) continue
    for (const [ended, value] of inFlight.splice(0)) map.end(map.slot(ended), value)
  }
  collect({ type: 'minor' })
  collect({ type: 'minor' })
  // All of them together are 20 MB.
  expect(getHeapStatistics().used_heap_size - before).toBeLessThan(6e6)
})
