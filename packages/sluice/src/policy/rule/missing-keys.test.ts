import { afterEach, expect, it, vi } from 'vitest'
import { compilePolicy } from '../compile/compile-policy.ts'

afterEach(() => vi.restoreAllMocks())

function warningsAfter(onMissing: 'skip' | 'deny' | undefined, withKey: number, withoutKey: number): string[] {
  const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const rule = { name: 'per-client', key: 'headers.x-key', limits: { rpm: 5 }, ...(onMissing && { onMissing }) }
  const policy = compilePolicy({ service: 's', rules: [rule] })
  const request = (headers: Record<string, string>) => policy.match({ method: 'GET', path: '/', headers }, 0)
  for (let i = 0; i < withKey; i++) request({ 'x-key': 'k' })
  for (let i = 0; i < withoutKey; i++) request({})
  return emitted.mock.calls.map(([message]) => String(message))
}

it('warns once when most requests lack the key of a rule, and nothing says that they may', () => {
  expect(warningsAfter(undefined, 50, 500)).toEqual([
    expect.stringContaining('The rule per-client did not limit 100 of 150 requests that it matches'),
  ])
})

it.each([
  ['while few requests were seen', undefined, 0, 99],
  ['while most have the key', undefined, 1000, 900],
  ['where it is meant', 'skip', 0, 500],
  ['where they are refused', 'deny', 0, 500],
] as const)('does not warn %s', (_, onMissing, withKey, withoutKey) => {
  expect(warningsAfter(onMissing, withKey, withoutKey)).toEqual([])
})
