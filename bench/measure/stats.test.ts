import { expect, test } from 'vitest'
import { quantile, spread } from './stats.ts'

test('a spread is the median with the least and the greatest', () => {
  expect(spread([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 })
  expect(spread([4, 1, 3, 2])).toEqual({ median: 2.5, min: 1, max: 4 })
})

test('a quantile is never outside the values', () => {
  expect(quantile([1, 2, 3, 4], 0.5)).toBe(3)
  expect(quantile([1, 2, 3, 4], 1)).toBe(4)
  expect(quantile([], 0.5)).toBeNaN()
})
