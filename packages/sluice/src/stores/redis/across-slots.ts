import type { Answer, Ask, Charge, LimitStatus, TakeAsk } from '../../core/engine/ask.ts'
import type { Hold } from '../../core/engine/state.ts'

/** How long the receipt of a decision over several slots lives: far longer than the decision, so that it can always be taken back. */
const receiptTtlUs = 10_000_000
const giveBackAttempts = 6
const giveBackPauseMs = 500

interface Part {
  readonly charges: readonly Charge[]
  /** Which charges of the whole ask these are. */
  readonly indices: readonly number[]
}

/** What deciding over several slots needs from the store. */
export interface AcrossSlots {
  slotOf(charge: Charge): number
  /** Decides an ask whose subjects lie in one slot. */
  decide(ask: Ask): Promise<Answer>
  /** What comes of some work, or undefined when it is not done by the deadline of the whole ask. */
  inTime<T>(work: Promise<T>): Promise<T | undefined>
  id(): string
}

/**
 * Decides an ask over several slots of a cluster, where no script sees all of it. Every slot takes its part under a receipt, in
 * parallel; if one denies or fails, the others give theirs back by the receipt's id, which does nothing where nothing was taken. So it
 * never over-admits; while a denial is being given back, others may be denied for a moment.
 */
export async function decideAcrossSlots(ask: Ask, across: AcrossSlots): Promise<Answer> {
  const parts = split(ask.charges, across.slotOf)
  if (ask.kind === 'take') return takeAcross(ask, parts, across)
  return merge(ask, parts, await Promise.all(parts.map(({ charges }) => across.decide({ ...ask, charges }))))
}

async function takeAcross(ask: TakeAsk, parts: readonly Part[], { decide, inTime, id }: AcrossSlots): Promise<Answer> {
  const hold = ask.hold ?? { id: id(), ttlUs: receiptTtlUs, kind: 'receipt' as const }
  const outcomes = await Promise.allSettled(parts.map(({ charges }) => decide({ ...ask, charges, hold })))
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  const answers = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : undefined))
  if (failed === undefined && answers.every((answer) => answer!.allowed)) {
    // The receipts have done their duty. They go with the next script call; should that fail, they expire by themselves.
    if (ask.hold === undefined)
      for (const { charges } of parts) decide({ kind: 'settle', charges, id: hold.id }).catch(ignore)
    return merge(ask, parts, answers as Answer[])
  }
  const giveBack = Promise.allSettled(
    parts.map(({ charges }, p) =>
      answers[p]?.allowed === false
        ? undefined
        : giveBackPart(decide, {
            kind: 'settle',
            charges: charges.map((charge) => ({ ...charge, cost: 0 })),
            id: hold.id,
          }),
    ),
  )
  // Whoever asked does not wait for it longer than for the decision itself.
  if (failed !== undefined) throw failed.reason
  const returned = await inTime(giveBack)
  const after = answers.map((answer, p) => {
    const back = returned?.[p]
    return answer!.allowed && back?.status === 'fulfilled'
      ? { ...answer!, allowed: false, statuses: back.value!.statuses }
      : answer!
  })
  return { ...merge(ask, parts, after), allowed: false, granted: 0 }
}

/** Tries for a while: what broke the decision may break this too, and the id makes doing it twice harmless. */
async function giveBackPart(decide: AcrossSlots['decide'], ask: Ask): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await decide(ask)
    } catch (error) {
      if (attempt === giveBackAttempts) throw error
      await new Promise<void>((resolve) => setTimeout(resolve, giveBackPauseMs).unref())
    }
  }
}

function ignore(): void {}

function split(charges: readonly Charge[], slotOf: (charge: Charge) => number): Part[] {
  const bySlot = new Map<number, { charges: Charge[]; indices: number[] }>()
  for (const [index, charge] of charges.entries()) {
    const slot = slotOf(charge)
    const part = bySlot.get(slot) ?? { charges: [], indices: [] }
    part.charges.push(charge)
    part.indices.push(index)
    bySlot.set(slot, part)
  }
  return [...bySlot.values()]
}

function merge(ask: Ask, parts: readonly Part[], answers: readonly Answer[]): Answer {
  const statuses: (readonly LimitStatus[])[] = []
  const holds: (readonly Hold[])[] = []
  for (const [p, { indices }] of parts.entries()) {
    for (const [i, index] of indices.entries()) {
      statuses[index] = answers[p]!.statuses[i]!
      holds[index] = answers[p]!.holds?.[i] ?? []
    }
  }
  const granted = answers.map((answer) => answer.granted)
  return {
    allowed: answers.every((answer) => answer.allowed),
    granted: ask.kind === 'take' || ask.kind === 'peek' ? Math.min(...granted) : granted.reduce((sum, n) => sum + n, 0),
    nowUs: Math.max(...answers.map((answer) => answer.nowUs)),
    statuses,
    ...(ask.kind === 'peek' ? { holds } : {}),
  }
}
