import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { keyOf } from '../keys/cache-key.ts'
import { Flight, FlightMap } from './flight.ts'

/** A flight of a key, with a fetch that holds a value. */
const flightOf = (map: FlightMap, key: string, value?: unknown): Flight =>
  new Flight(keyOf(key), () => value, undefined, map.slot(key), 0)

test('a key has its flight until it ends', () => {
  const map = new FlightMap()
  const slot = map.slot('a')
  const flight = flightOf(map, 'a')
  expect([map.get('a'), map.size]).toEqual([undefined, 0])
  map.begin(flight)
  expect([map.get('a'), map.get('b'), map.size, map.flights()]).toEqual([flight, undefined, 1, [flight]])
  map.end(flight)
  expect([map.get('a'), map.size, map.flights()]).toEqual([undefined, 0, []])
  expect(map.slot('a')).toBe(slot)
})

test('the end of a flight that was replaced leaves the one in its place', () => {
  const map = new FlightMap()
  const [first, second] = [flightOf(map, 'a'), flightOf(map, 'a')]
  map.begin(first)
  map.begin(second)
  map.end(first)
  expect([map.get('a') === second, map.size]).toEqual([true, 1])
  map.end(second)
  map.end(second)
  expect([map.get('a'), map.size]).toEqual([undefined, 0])
})

test('keeps a bounded number of keys without a flight, and all that have one', () => {
  const map = new FlightMap()
  const long = Array.from({ length: 100 }, (_, i) => flightOf(map, `in flight ${i}`))
  for (const flight of long) map.begin(flight)
  let most = 0
  for (let i = 0; i < 50_000; i++) {
    const short = flightOf(map, `key ${i}`)
    map.begin(short)
    map.end(short)
    most = Math.max(most, map.keys)
  }
  expect(most).toBeLessThan(5000)
  expect(map.size).toBe(100)
  for (const [i, flight] of long.entries()) expect(map.get(`in flight ${i}`) === flight).toBe(true)
})

test('what has ended is freed by minor collections', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void
  const map = new FlightMap()
  const inFlight: Flight[] = []
  // A full collection moves what it finds, such as the tables of a Map, to old space.
  for (let i = 0; i < 2000; i++) flightOf(map, `key ${i}`)
  collect()
  collect()
  const before = getHeapStatistics().used_heap_size
  for (let i = 0; i < 20_000; i++) {
    const flight = flightOf(map, `key ${i % 2000}`, new Array(128).fill(i))
    map.begin(flight)
    if (inFlight.push(flight) < 512) continue
    for (const ended of inFlight.splice(0)) map.end(ended)
  }
  collect({ type: 'minor' })
  collect({ type: 'minor' })
  // All of them together are 20 MB.
  expect(getHeapStatistics().used_heap_size - before).toBeLessThan(6e6)
})
