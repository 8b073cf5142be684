import { describe, expect, test } from 'vitest'
import { type Headers, retryAfterMs } from '../../core/retry-after.ts'
import { presetOf } from './presets.ts'
import { vendorSignal } from './vendor-signal.ts'

const nowMs = Date.UTC(2026, 10, 16, 12, 0, 0)
const httpDate = (ms: number): string => new Date(ms).toUTCString()

describe('Retry-After', () => {
  test.each([
    ['3', 3000],
    ['0', 0],
    ['2.0', 2000],
    ['0.25', 250],
    [' 7 ', 7000],
    ['1, 5', 5000],
    [httpDate(nowMs + 9000), 9000],
    [httpDate(nowMs - 9000), 0],
    ['999999999999', 999_999_999_999_000],
  ])('%j is a wait of %d ms', (text, ms) => {
    expect(retryAfterMs({ 'retry-after': text }, nowMs)).toBe(ms)
  })

  test.each(['', '-5', 'soon', '0x10', '1e12', 'NaN', '120s', '2026-11-16'])('%j is ignored', (text) => {
    expect(retryAfterMs({ 'retry-after': text }, nowMs)).toBeUndefined()
  })

  test('a date counts by the clock of the vendor, unless the response comes from a cache', () => {
    const headers = { 'retry-after': httpDate(nowMs + 100_000), date: httpDate(nowMs + 90_000) }
    expect(retryAfterMs(headers, nowMs)).toBe(10_000)
    expect(retryAfterMs({ ...headers, age: '30' }, nowMs)).toBe(100_000)
  })

  test('milliseconds are the most exact form', () => {
    expect(retryAfterMs({ 'retry-after': '5', 'retry-after-ms': '4210' }, nowMs)).toBe(4210)
  })
})

const signal = (vendor: string | undefined, status: number, headers: Headers, body?: string) =>
  vendorSignal(presetOf(vendor), status, headers, nowMs, undefined, body)

describe('limits that a vendor reports', () => {
  test.each<[string, string | undefined, number, Headers, number | undefined]>([
    ['429 that says nothing', undefined, 429, {}, undefined],
    ['429 with Retry-After', undefined, 429, { 'retry-after': '2' }, 2000],
    ['503 with Retry-After', undefined, 503, { 'retry-after': '2' }, 2000],
    ['draft 6', undefined, 429, { 'ratelimit-remaining': '0', 'ratelimit-reset': '7' }, 7000],
    ['draft 7', undefined, 429, { ratelimit: 'limit=100, remaining=0, reset=5' }, 5000],
    ['draft 8', undefined, 429, { ratelimit: '"burst";r=50;t=1, "day";r=0;t=30' }, 30_000],
    ['Retry-After beats t', undefined, 429, { ratelimit: '"a, b";r=0;t=30', 'retry-after': '3' }, 3000],
    [
      'epoch seconds',
      undefined,
      429,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${nowMs / 1000 + 20}` },
      20_000,
    ],
    [
      'epoch milliseconds',
      undefined,
      429,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${nowMs + 1500}` },
      1500,
    ],
    ['seconds', undefined, 429, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '12' }, 12_000],
    ['X', undefined, 429, { 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': `${nowMs / 1000 + 9}` }, 9000],
    ['OpenAI', 'openai', 429, { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '6m0s' }, 360_000],
    [
      'OpenAI, the limit that is used up for longest',
      'openai',
      429,
      {
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '12ms',
        'x-ratelimit-remaining-tokens': '0',
        'x-ratelimit-reset-tokens': '1m30.5s',
      },
      90_500,
    ],
    [
      'OpenAI with placeholders',
      'openai',
      429,
      { 'x-ratelimit-remaining-requests': '-1', 'x-ratelimit-reset-requests': '0' },
      undefined,
    ],
    [
      'Anthropic',
      'anthropic',
      429,
      { 'anthropic-ratelimit-tokens-remaining': '0', 'anthropic-ratelimit-tokens-reset': '2026-11-16T12:00:20Z' },
      20_000,
    ],
    [
      'GitHub, primary',
      'github',
      403,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${nowMs / 1000 + 60}` },
      61_000,
    ],
    ['GitHub, secondary', 'github', 429, {}, 60_000],
    ['Discord', 'discord', 429, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-after': '0.75' }, 750],
  ])('%s', (_, vendor, status, headers, waitMs) => {
    expect(signal(vendor, status, headers)).toMatchObject({ limited: true, pauses: true, waitMs })
  })

  test('a success with nothing left pauses, where the reset states when there is more', () => {
    const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '4' }
    expect(signal(undefined, 200, headers)).toMatchObject({ limited: false, pauses: true, waitMs: 4000 })
    const openai = { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '6m0s' }
    expect(signal('openai', 200, openai)).toMatchObject({ limited: false, pauses: false })
  })

  test.each<[number, Headers]>([
    [200, { 'x-ratelimit-remaining': '5', 'x-ratelimit-reset': '4' }],
    [403, {}],
    [503, {}],
    [500, { 'retry-after': '5' }],
  ])('%d with %j means nothing', (status, headers) => {
    expect(signal('github', status, headers).pauses).toBe(false)
  })

  test('an account without credit is not retried', () => {
    expect(signal('openai', 429, {}, '{"error":{"code":"insufficient_quota"}}').mayRetry).toBe(false)
    expect(signal('openai', 429, { 'x-should-retry': 'true' }).mayRetry).toBe(true)
  })
})
