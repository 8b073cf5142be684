import { expect, test } from 'vitest'
import { sharedFor } from './shared-for.ts'

test('what is shared is made once in its time', () => {
  let nowMs = 0
  let made = 0
  const look = sharedFor(
    1000,
    () => ++made,
    () => nowMs,
  )
  expect([look(), look()]).toEqual([1, 1])
  nowMs = 999
  expect(look()).toBe(1)
  nowMs = 1000
  expect(look()).toBe(2)
})
