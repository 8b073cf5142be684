import type { Hold } from '../../core/algorithms/state.ts'
import type { Answer, Ask, Charge, LimitStatus } from '../../core/engine/ask.ts'
import { isSpent, type Part, type SlotStore, takeAcross } from './take-across-slots.ts'

/** What deciding over several slots needs from the store. */
export interface AcrossSlots extends SlotStore {
  slotOf(charge: Charge): number
}

/** Decides an ask over several slots of a cluster, where no script sees all of it. */
export async function decideAcrossSlots(ask: Ask, across: AcrossSlots): Promise<Answer> {
  const hold = ask.kind === 'take' ? ask.hold : undefined
  // What is only spent must not become held because it shares a slot with what is.
  const partOf = (charge: Charge): string => `${across.slotOf(charge)}${isSpent(charge, hold) ? ' spent' : ''}`
  const parts = split(ask.charges, partOf)
  if (ask.kind !== 'take')
    return merge(ask, parts, await Promise.all(parts.map(({ charges }) => across.decide({ ...ask, charges }))))
  const { allowed, answers } = await takeAcross(ask, parts, across)
  return { ...merge(ask, parts, answers), allowed, granted: allowed ? 1 : 0 }
}

function split(charges: readonly Charge[], partOf: (charge: Charge) => string): Part[] {
  const parts = new Map<string, { charges: Charge[]; indices: number[] }>()
  for (const [index, charge] of charges.entries()) {
    const name = partOf(charge)
    const part = parts.get(name) ?? { charges: [], indices: [] }
    part.charges.push(charge)
    part.indices.push(index)
    parts.set(name, part)
  }
  return [...parts.values()]
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
    granted: ask.kind === 'peek' ? Math.min(...granted) : granted.reduce((sum, n) => sum + n, 0),
    nowUs: Math.max(...answers.map((answer) => answer.nowUs)),
    statuses,
    ...(ask.kind === 'peek' ? { holds } : {}),
  }
}
