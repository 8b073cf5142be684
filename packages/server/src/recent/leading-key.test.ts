import { expect, test } from 'vitest'
import { leadingKey } from './leading-key.ts'

const seen = (...counts: (readonly [count: number, error?: number])[]) =>
  counts.map(([count, error = 0], i) => ({ key: `s/r/${i}`, count, error }))

test('a key leads only where it was certainly seen more often than the others', () => {
  expect(leadingKey(seen([3], [1]))).toEqual({ key: { key: 's/r/0', count: 3, error: 0 }, isAlike: false })
  expect(leadingKey(seen([3]))).toMatchObject({ key: { key: 's/r/0' } })
  expect(leadingKey(seen([60, 58], [40]))).toMatchObject({ key: { key: 's/r/1' } })
})

test('of keys that were seen equally often none stands out', () => {
  expect(leadingKey(seen([1], [1], [1]))).toEqual({ key: null, isAlike: true })
  expect(leadingKey(seen([51, 51], [51, 51]))).toEqual({ key: null, isAlike: true })
  expect(leadingKey([])).toEqual({ key: null, isAlike: false })
})
