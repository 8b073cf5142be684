import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { DecisionTurns } from './decision-turns.ts'

test('decisions asked for at once begin in their order, over several turns of the event loop', async () => {
  const turns = new DecisionTurns()
  const begun: number[] = []
  const perTurn: number[] = []
  const all = Promise.all(
    Array.from({ length: 500 }, async (_, i) => {
      await turns.begin()
      begun.push(i)
    }),
  )
  for (let before = 0; begun.length < 500; before = begun.length) {
    await setImmediate()
    perTurn.push(begun.length - before)
  }
  await all
  expect(begun).toEqual(Array.from({ length: 500 }, (_, i) => i))
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(256)
  expect(perTurn.length).toBeGreaterThan(2)
})

test('a decision that comes alone begins at once', async () => {
  const turns = new DecisionTurns()
  for (let i = 0; i < 300; i++) {
    expect(turns.begin()).toBeUndefined()
    await setImmediate()
  }
})
