import { expect, test } from 'vitest'
import { waitFor } from '../testing/wait-for.ts'
import { Silence } from './silence.ts'

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

test('a server that does not answer for too long is left, once', async () => {
  let left = 0
  const silence = new Silence(20, () => left++)
  const startMs = performance.now()
  for (let call = 0; call < 5; call++) silence.began()
  await waitFor(() => left > 0)
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(20)
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(left).toBe(1)
})

test('one that answers some of many calls now and then is not', async () => {
  let left = 0
  const silence = new Silence(200, () => left++)
  for (let call = 0; call < 10; call++) silence.began()
  const startMs = performance.now()
  for (let call = 0; call < 9; call++) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    silence.ended()
  }
  expect(performance.now() - startMs).toBeGreaterThan(200)
  expect(left).toBe(0)
  await waitFor(() => left === 1)
})

test('silence without a call under way means nothing, and needs no timer', async () => {
  const before = timers()
  let left = 0
  const silence = new Silence(10, () => left++)
  silence.began()
  silence.ended()
  await waitFor(() => timers() <= before)
  expect(left).toBe(0)
})
