import { expect, it } from 'vitest'
import type { Charge } from '../../core/engine/ask.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { ContinuityCheck } from './continuity-check.ts'

/** A store whose questions are answered when the test says so. */
function asked(): { readonly check: ContinuityCheck; readonly answers: ((sinceUs: number) => void)[] } {
  const answers: ((sinceUs: number) => void)[] = []
  const store = {
    shardOf: () => 0,
    connection: () => 0,
    intactSinceUs: () => new Promise<number>((resolve) => answers.push(resolve)),
  }
  return { check: new ContinuityCheck(store, virtualClock()), answers }
}
const charge = {} as Charge
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

it('shares a question in flight with those whom the store has not answered yet', async () => {
  const { check, answers } = asked()
  const both = [check.ask(charge, 100), check.ask(charge, 100)]
  expect(answers).toHaveLength(1)
  answers[0]!(7)
  expect(await Promise.all(both)).toEqual([7, 7])
})

it('asks anew for those whom it has: a question in flight may have been answered before the store was wiped', async () => {
  const { check, answers } = asked()
  const before = check.ask(charge, 100)
  // The reply has arrived, and is read together with that of a decision which the wiped store made.
  answers[0]!(7)
  const after = [check.askAgain(charge, 100), check.askAgain(charge, 100)]
  await settled()
  answers[1]!(9)
  expect(await before).toBe(7)
  expect(await Promise.all(after)).toEqual([9, 9])
  expect(answers).toHaveLength(2)
})

it('asks anew after a question that failed', async () => {
  const { check, answers } = asked()
  void check.ask(charge, 100)
  const after = check.askAgain(charge, 100)
  answers[0]!(Promise.reject(new Error('lost')) as never)
  await settled()
  answers[1]!(9)
  expect(await after).toBe(9)
})
