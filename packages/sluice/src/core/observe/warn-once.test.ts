import { afterEach, expect, test, vi } from 'vitest'
import { warnOnce } from './warn-once.ts'

afterEach(() => vi.restoreAllMocks())

test('each adapter warns once of a kind, however often it happens', () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const [first, second] = [warnOnce('SLUICE_BODY_NOT_PARSED'), warnOnce('SLUICE_BODY_NOT_PARSED')]
  for (let i = 0; i < 3; i++) first('of the first app')
  second('of the second app')
  expect(warned.mock.calls.map(([message]) => message)).toEqual(['of the first app', 'of the second app'])
})
