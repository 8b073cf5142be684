import { expect, test } from 'vitest'
import { waitFor } from './wait-for.ts'

test('returns the first truthy answer', async () => {
  let calls = 0
  const third = (): false | string => {
    calls += 1
    return calls === 3 && 'third'
  }
  expect(await waitFor(third)).toBe('third')
  expect(calls).toBe(3)
})

test('a condition that throws is asked again', async () => {
  let calls = 0
  const answer = await waitFor(async () => {
    calls += 1
    if (calls < 3) throw new Error('not yet')
    return calls
  })
  expect(answer).toBe(3)
})

test('the error says what was awaited and what was seen last', async () => {
  const waiting = waitFor(() => 0, { timeoutMs: 20, describe: 'a number above zero' })
  await expect(waiting).rejects.toThrow('waited 20 ms for a number above zero; last seen was 0')
  const cause = new Error('refused')
  const failing = waitFor(() => Promise.reject(cause), { timeoutMs: 20, describe: 'a server' })
  await expect(failing).rejects.toMatchObject({ message: expect.stringContaining('an error: refused'), cause })
})

test('a condition that hangs does not outlive the time limit', async () => {
  await expect(waitFor(() => new Promise(() => {}), { timeoutMs: 20 })).rejects.toThrow('did not settle')
})
