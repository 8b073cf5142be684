import { describe, expect, test } from 'vitest'
import { arrivalMs } from '../connection/arrival.ts'
import { arrivalWarning } from '../health.ts'
import { Handshakes } from './arrival.ts'

const upstream = (arrival: number | 'auto' | 'response', ...periods: number[]) =>
  ({ arrival, timeoutMs: 60_000, limits: periods.map((periodMs) => ({ periodMs })) }) as never
const small = { bytes: 500, roundTripMs: 2, widenedMs: 0 }

describe('how long a request may be on its way', () => {
  test.each([
    ['at least a fortieth of the shortest period', small, 25],
    ['the round trip and 5 ms', { ...small, roundTripMs: 80 }, 85],
    ['a round trip for each flight', { ...small, roundTripMs: 20, bytes: 50_000 }, 65],
    ['what refusals have widened it to', { ...small, widenedMs: 100 }, 100],
    [
      'only known by its response, if that would be over a quarter of the period',
      { ...small, roundTripMs: 246 },
      undefined,
    ],
    ['only known by its response, if its size is not known', { ...small, bytes: undefined }, undefined],
    ['only known by its response, if it is large', { ...small, bytes: 70_000 }, undefined],
    ['only known by its response, if no handshake was seen', { ...small, roundTripMs: undefined }, undefined],
  ])('is %s', (_, about, expected) => {
    expect(arrivalMs(upstream('auto', 60_000, 1000), about)).toBe(expected)
  })

  test('is what the policy states, whatever was measured', () => {
    expect(arrivalMs(upstream(7, 1000), { bytes: undefined, roundTripMs: 900, widenedMs: 100 })).toBe(7)
    expect(arrivalMs(upstream('response', 1000), small)).toBeUndefined()
    expect(arrivalMs(upstream('auto', 0), small)).toBeUndefined()
  })
})

test('a relay on this machine and a dispatcher of the application are warned about, unless a duration is stated', () => {
  const at = (origin: string, arrival: unknown = 'auto') => ({ name: 'v', origin, arrival }) as never
  expect(arrivalWarning(at('http://127.0.0.1:15001'), false, 0.2, 80)).toMatch(/state arrival as a duration/)
  expect(arrivalWarning(at('http://127.0.0.1:15001'), false, 0.2, 3)).toBeUndefined()
  expect(arrivalWarning(at('http://127.0.0.1:15001', 50), false, 0.2, 80)).toBeUndefined()
  expect(arrivalWarning(at('https://vendor.example'), false, 0.2, 80)).toBeUndefined()
  expect(arrivalWarning(at('https://vendor.example'), true, undefined, Infinity)).toMatch(/a dispatcher/)
})

describe('handshakes', () => {
  test('count with the shortest of a minute, and the longest of ten minutes', () => {
    const handshakes = new Handshakes()
    expect(handshakes.roundTripMs(0)).toBeUndefined()
    handshakes.add(80, 1000)
    handshakes.add(12, 2000)
    handshakes.add(300, 3000)
    expect(handshakes.roundTripMs(3000)).toBe(12)
    handshakes.add(40, 61_000)
    handshakes.add(15, 301_000)
    expect(handshakes.roundTripMs(301_000)).toBe(40)
    expect(handshakes.roundTripMs(659_000)).toBe(40)
    expect(handshakes.roundTripMs(661_000)).toBe(15)
    expect(handshakes.roundTripMs(9_000_000)).toBe(15)
  })
})
