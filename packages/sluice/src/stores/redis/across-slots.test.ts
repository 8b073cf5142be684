import { expect, test } from 'vitest'
import type { Hold } from '../../core/algorithms/state.ts'
import { limitSet } from '../../core/engine/any-limit-set.ts'
import type { Answer, Ask, Charge, HoldRequest, LimitStatus } from '../../core/engine/ask.ts'
import { StoreError } from '../../core/errors.ts'
import { compileLimits } from '../../policy/limit/testing/compile-limits.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
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
    clock: virtualClock(),
    random: () => 0,
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

const places = limitSet(compileLimits([{ amount: 1, algorithm: 'concurrency' }], 'limits'))
const place: Charge = { ...charges[0]!, limits: places }
const hold = { id: 'h', ttlUs: 1, kind: 'acquire', permitsOnly: true } as const

/** Asks for a hold of places only, and says what was asked of the slots. */
async function admit(
  all: readonly Charge[],
  outcomeOf: (ask: Ask) => Answer | Promise<Answer>,
  held: HoldRequest = hold,
): Promise<{ answer: Answer | undefined; asked: unknown[][] }> {
  const asked: Ask[] = []
  let passedMs = 0
  const answer = await decideAcrossSlots(
    { kind: 'take', charges: all, copies: 1, hold: held },
    {
      slotOf: ({ subject }) => Number(subject[0]),
      decide: async (ask) => {
        asked.push(ask)
        return outcomeOf(ask)
      },
      inTime: (work) => work,
      clock: { ...virtualClock(), monotonic: () => passedMs++ },
      random: () => 0,
      id: () => 'receipt',
    },
  ).catch(() => undefined)
  await new Promise((resolve) => setImmediate(resolve))
  return { answer, asked: asked.map((ask) => [ask.kind, ask.charges[0]!.subject, ask.charges[0]!.cost, idOf(ask)]) }
}

function idOf(ask: Ask): string | undefined {
  if (ask.kind === 'take') return `${ask.hold!.kind} ${ask.hold!.id}`
  return 'id' in ask ? ask.id : undefined
}

const knew = (kind: 'acquire' | 'pending' | 'reserve', cost = 1): Answer => ({
  ...answer(true),
  known: [{ kind, cost }],
})
const began: Answer = { ...answer(true), known: [undefined] }

test('asked to hold places only, takes the rest under receipts, and confirms all of it', async () => {
  const mixed = [place, { ...charges[0]!, subject: '0b' }, charges[1]!]
  const { answer: admitted, asked } = await admit(mixed, () => began)
  expect(admitted).toMatchObject({ allowed: true, granted: 1 })
  expect(asked).toEqual([
    ['take', '0', 1, 'pending h'],
    ['take', '0b', 1, 'receipt receipt'],
    ['take', '1', 1, 'receipt receipt'],
    ['extend', '0', 1, 'h'],
    ['settle', '0b', 1, 'receipt'],
    ['settle', '1', 1, 'receipt'],
  ])
})

test('asked again with a hold that is open, spends nothing, also where nothing is left', async () => {
  for (const isLeft of [true, false]) {
    const spent = { ...answer(isLeft), statuses: [[{ retryAfterMs: 10 } as LimitStatus]] }
    const { answer: admitted, asked } = await admit([place, charges[1]!], (ask) =>
      ask.charges[0] === place ? knew('acquire') : spent,
    )
    expect(admitted).toMatchObject({ allowed: true, granted: 1, statuses: [[], [{ retryAfterMs: 0 }]] })
    expect(asked.slice(2)).toEqual(isLeft ? [['settle', '1', 0, 'receipt']] : [])
  }
})

test('a hold that another is just asking for pays for nobody: that one may yet be denied', async () => {
  const full = (ask: Ask): Answer => (ask.charges[0] === place ? knew('pending') : answer(false))
  const denied = await admit([place, charges[1]!], full)
  expect(denied.answer).toMatchObject({ allowed: false })
  expect(denied.asked.slice(2)).toEqual([])
  const { answer: admitted, asked } = await admit([place, charges[1]!], (ask) =>
    ask.charges[0] === place ? knew('pending') : began,
  )
  expect(admitted).toMatchObject({ allowed: true })
  expect(asked.slice(2)).toEqual([
    ['extend', '0', 1, 'h'],
    ['settle', '1', 1, 'receipt'],
  ])
})

test('refused more of a hold that is open, leaves it as large as it was', async () => {
  const reserve = { id: 'h', ttlUs: 1, kind: 'reserve' } as const
  const larger = charges.map((charge) => ({ ...charge, cost: 7 }))
  const { asked } = await admit(
    larger,
    (ask) => (ask.charges[0]!.subject === '1' ? answer(false) : knew('reserve', 4)),
    reserve,
  )
  expect(asked.slice(2)).toEqual([['resize', '0', 4, 'h']])
})

test('after a lost answer, ends a hold that this ask may have begun, but none that is older', async () => {
  const reserve = { id: 'h', ttlUs: 1, kind: 'reserve' } as const
  const nowUs = 1_000_000
  for (const [ageUs, ended] of [
    [1000, true],
    [500_000, false],
  ] as const) {
    const held: Hold = { id: 'h', kind: 'reserve', cost: 1, takenUs: nowUs - ageUs, expiresUs: nowUs * 2, tags: [] }
    const { asked } = await admit(
      charges,
      (ask) => {
        if (ask.kind === 'take') throw new StoreError('timeout', 'late')
        return { ...answer(true), nowUs, holds: [[held]] }
      },
      reserve,
    )
    expect(asked.filter(([kind]) => kind === 'peek')).toHaveLength(2)
    expect(asked.filter(([kind]) => kind === 'settle')).toHaveLength(ended ? 2 : 0)
  }
})
