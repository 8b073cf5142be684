import { expect, test } from 'vitest'
import { bytes, duration, percentage, rate } from './numbers.ts'

test('lengths of time are never sixty of a unit, nor a thousand', () => {
  const lengths = [0, 0.4, 9.999, 999.4, 999.6, 59_940, 59_960, 60_000, 3_599_999, 3_600_000, 86_399_999, 86_400_000]
  expect(lengths.map(duration)).toEqual([
    ...['0 ms', '0.40 ms', '10 ms', '999 ms', '1 s', '59.9 s', '1 min', '1 min'],
    ...['59 min 59 s', '1 h', '23 h 59 min', '1 d'],
  ])
})

test('amounts of memory are in the unit of their rounded figure', () => {
  expect([0, 0.4, 512, 999.6, 1449, 999_499, 999_950, 9.96e6, 4.6e8, 1e12, 2e15].map(bytes)).toEqual([
    ...['0 B', '0 B', '512 B', '1 kB', '1.4 kB', '999 kB', '1 MB', '10 MB', '460 MB', '1 TB', '2000 TB'],
  ])
})

test('what is rare is not shown as nothing, nor what is common as all', () => {
  expect([0, 0.004, 0.5, 0.996, 1].map(percentage)).toEqual(['0%', '<1%', '50%', '>99%', '100%'])
  expect([0, 0.01, 0.4, 9.96, 12.4, 1234].map(rate)).toEqual(['0', '<0.1', '0.4', '10', '12', '1,234'])
})
