import { expect, test } from 'vitest'
import type { Answer, Ask, Charge } from '../../core/engine/ask.ts'
import { limitSet } from '../../core/engine/limit-set.ts'
import { StoreError } from '../../core/errors.ts'
import { compileLimits } from '../../policy/compile/limit-spec.ts'
import { decideAcrossSlots } from './across-slots.ts'

const rule = { name: 'r', prefix: 's/r/', onStoreFailure: 'closed', lease: false } as const
const limits = limitSet(compileLimits({ rpm: 10 }, 'limits'))
const charges: Charge[] = ['0', '1'].map((subject) => ({ rule, subject, limits, cost: 1 }))
const take: Ask = { kind: 'take', charges, copies: 1, hold: undefined }
const answer = (allowed: boolean): Answer => ({ allowed, granted: allowed ? 1 : 0, nowUs: 1, statuses: [[]] })
const never = new Promise<never>(() => undefined)

function decide(
  outcomes: readonly (Promise<Answer> | Answer)[],
  settled: Promise<Answer>,
  asked: Ask[] = [],
): Promise<Answer> {
  return decideAcrossSlots(take, {
    slotOf: (charge) => Number(charge.subject),
    decide: async (ask) => {
      asked.push(ask)
      return ask.kind === 'take' ? outcomes[Number(ask.charges[0]!.subject)]! : settled
    },
    inTime: (work) => Promise.race([work, Promise.resolve(undefined)]),
    id: () => 'receipt',
  })
}

test('when one slot fails, what the others took is given back, and nobody waits for that', async () => {
  const asked: Ask[] = []
  const failing = Promise.reject(new StoreError('timeout', 'late'))
  await expect(decide([answer(true), failing], never, asked)).rejects.toMatchObject({ kind: 'timeout' })
  // Also where it failed: the take may have been done and only its answer lost.
  expect(
    asked.filter(({ kind }) => kind === 'settle').map((ask) => [ask.charges[0]!.subject, ask.charges[0]!.cost]),
  ).toEqual([
    ['0', 0],
    ['1', 0],
  ])
})

test('when one slot denies, the denial does not wait for the give-back longer than its deadline', async () => {
  expect(await decide([answer(true), answer(false)], never)).toMatchObject({ allowed: false, granted: 0 })
})

test('when all slots allow, the answer does not wait for the receipts to be cleared', async () => {
  expect(await decide([answer(true), answer(true)], never)).toMatchObject({ allowed: true, granted: 1 })
})

test('asked to hold places only, takes the rest under receipts that are cleared', async () => {
  const places = limitSet(compileLimits([{ amount: 1, algorithm: 'concurrency' }], 'limits'))
  const mixed: Charge[] = [
    { ...charges[0]!, limits: places },
    { ...charges[0]!, subject: '0b' },
    { ...charges[1]!, subject: '1' },
  ]
  const asked: Ask[] = []
  const hold = { id: 'h', ttlUs: 1, kind: 'acquire', placesOnly: true } as const
  await decideAcrossSlots(
    { kind: 'take', charges: mixed, copies: 1, hold },
    {
      slotOf: ({ subject }) => Number(subject[0]),
      decide: async (ask) => {
        asked.push(ask)
        return answer(true)
      },
      inTime: (work) => work,
      id: () => 'receipt',
    },
  )
  const seen = asked.map((ask) => [ask.kind, ask.charges[0]!.subject, ask.kind === 'take' && ask.hold?.kind])
  expect(seen).toEqual([
    ['take', '0', 'acquire'],
    ['take', '0b', 'receipt'],
    ['take', '1', 'receipt'],
    ['settle', '0b', false],
    ['settle', '1', false],
  ])
})
