import { expect, test } from 'vitest'
import { mostRuns, Runs } from './seen-ids.ts'

function randomFrom(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 1) >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const all = Array.from({ length: 104 }, (_, i) => i - 2)

test('contains exactly what was added, in whatever order, while there are few gaps', () => {
  for (let seed = 0; seed < 50; seed++) {
    const random = randomFrom(seed)
    const [runs, added] = [new Runs(), new Set<number>()]
    for (let i = 0; i < 80; i++) {
      const seq = Math.floor(random() * 100) - 1
      runs.add(seq)
      added.add(seq)
      const wrong = all.filter((each) => runs.has(each) !== added.has(each))
      expect({ seed, i, wrong }).toEqual({ seed, i, wrong: [] })
    }
  }
})

test('with many gaps drops the lowest runs, and never contains what was not added', () => {
  const random = randomFrom(7)
  const [runs, added] = [new Runs(), new Set<number>()]
  for (let i = 0; i < 5000; i++) {
    const seq = Math.floor(random() * 100_000)
    runs.add(seq)
    added.add(seq)
  }
  let known = 0
  for (let seq = 0; seq < 100_000; seq++) {
    if (!runs.has(seq)) continue
    known++
    if (!added.has(seq)) expect(seq).toBe('added')
  }
  expect(known).toBeGreaterThanOrEqual(mostRuns)
  expect(known).toBeLessThan(2 * mostRuns)
})
