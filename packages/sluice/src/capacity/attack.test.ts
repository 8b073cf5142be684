import { expect, it, test } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createCapacity } from './create-capacity.ts'

async function loaded(load: () => number) {
  const clock = virtualClock()
  const capacity = await createCapacity({ clock, process: false, load })
  await clock.advance('60s')
  return capacity
}

test.each<[string, () => unknown, number]>([
  ['Infinity is overload', () => Number.POSITIVE_INFINITY, 100],
  ['a huge one is overload', () => 1e300, 100],
  ['a negative one is idle', () => -5, 0],
  ['-Infinity is idle', () => Number.NEGATIVE_INFINITY, 0],
  ['NaN is not known, so neither', () => Number.NaN, 50],
  ['no number is not known', () => '97', 50],
  ['none is not known', () => undefined, 50],
  [
    'one that throws is not known',
    () => {
      throw new Error('broken')
    },
    50,
  ],
])('a load of the own measure: %s', async (_, load, percent) => {
  const capacity = await loaded(load as () => number)
  expect(Math.round(capacity.load.percent)).toBe(percent)
  expect(capacity.answer('a').ready).toBe(percent < 95)
  await capacity.close()
})

it('the delay of each of many shippers is bounded, and so is their number', async () => {
  const capacity = await loaded(() => 10)
  for (let i = 0; i < 150_000; i++) capacity.answer(`shipper-${i}`)
  expect(capacity.stats().senders).toBe(100_000)
  expect(capacity.answer('one more')).toMatchObject({ ready: true, maxBatchSize: 100, delayBetweenBatches: 300_000 })
  await capacity.close()
})

it('names of a megabyte do not stay in memory', async () => {
  const capacity = await loaded(() => 10)
  for (let i = 0; i < 50; i++) capacity.answer(`${i}${'x'.repeat(1 << 20)}`)
  expect(capacity.stats().senders).toBe(1)
  await capacity.close()
})

it('a shipper that requests all the time counts once, and one that is gone does not count for long', async () => {
  const clock = virtualClock()
  const capacity = await createCapacity({ clock, process: false, load: () => 10 })
  for (let i = 0; i < 1000; i++) capacity.answer('greedy')
  expect(capacity.answer('other').delayBetweenBatches).toBe(200)
  await clock.advance('31s')
  expect(capacity.answer('greedy').delayBetweenBatches).toBe(100)
  await capacity.close()
})
