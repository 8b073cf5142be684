import { expect, test } from 'vitest'
import { SingleFlight } from './single-flight.ts'

/** Work that the test ends. */
function started() {
  const ends: ((value: number) => void)[] = []
  const work = () => new Promise<number>((resolve) => void ends.push(resolve))
  return { ends, work }
}

test('callers of one key share the work in flight; other keys do not', async () => {
  const { ends, work } = started()
  const flights = new SingleFlight<string, number>()
  const [one, same, other] = [flights.join('a', work), flights.join('a', work), flights.join('b', work)]
  expect(ends).toHaveLength(2)
  ends[0]!(1)
  ends[1]!(2)
  expect(await Promise.all([one, same, other])).toEqual([1, 1, 2])
  void flights.join('a', work)
  expect(ends).toHaveLength(3)
})

test('who needs the present state shares only work that begins after the call', async () => {
  const { ends, work } = started()
  const flights = new SingleFlight<string, number>()
  const old = flights.join('a', work)
  const [next, sameNext] = [flights.startLater('a', work), flights.startLater('a', work)]
  expect(ends).toHaveLength(1)
  ends[0]!(1)
  expect(await old).toBe(1)
  await Promise.resolve()
  expect(ends).toHaveLength(2)
  ends[1]!(2)
  expect(await Promise.all([next, sameNext])).toEqual([2, 2])
})

test('work that fails is forgotten', async () => {
  const flights = new SingleFlight<string, number>()
  await expect(flights.join('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await flights.join('a', async () => 3)).toBe(3)
})
