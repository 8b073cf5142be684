import { expect, test } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { Silence } from './silence.ts'

test('a server that does not answer for too long is left, once', async () => {
  const clock = virtualClock()
  let left = 0
  const silence = new Silence(clock, 20, () => left++)
  for (let call = 0; call < 5; call++) silence.began()
  await clock.advance(19)
  expect(left).toBe(0)
  await clock.advance(1)
  expect(left).toBe(1)
  await clock.advance('1m')
  expect(left).toBe(1)
})

test('one that answers some of many calls now and then is not', async () => {
  const clock = virtualClock()
  let left = 0
  const silence = new Silence(clock, 200, () => left++)
  for (let call = 0; call < 10; call++) silence.began()
  for (let call = 0; call < 9; call++) {
    await clock.advance(150)
    silence.ended()
  }
  expect(left).toBe(0)
  await clock.advance(200)
  expect(left).toBe(1)
})

test('one whose answers this process was too late to read is not', async () => {
  const clock = virtualClock()
  let left = 0
  const silence = new Silence(clock, 200, () => left++)
  silence.began()
  clock.tick(500)
  await clock.advance(100)
  expect(left).toBe(0)
  await clock.advance(100)
  expect(left).toBe(1)
})

test('silence without a call in flight means nothing, and needs no timer', async () => {
  const clock = virtualClock()
  let left = 0
  const silence = new Silence(clock, 10, () => left++)
  silence.began()
  silence.ended()
  await clock.advance(25)
  expect(clock.pending).toBe(0)
  expect(left).toBe(0)
})
