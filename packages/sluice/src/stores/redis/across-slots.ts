import { type BackoffOptions, backoffMs } from '../../core/backoff.ts'
import type { Answer, Ask, Charge, HoldRequest, LimitStatus, TakeAsk } from '../../core/engine/ask.ts'
import type { Hold } from '../../core/engine/state.ts'

/**
 * How long a decision over several slots may stay unconfirmed. When its receipt expires its units come back, as after
 * the death of the process that asked; so it is far longer than confirming ever takes.
 */
const receiptTtlUs = 60_000_000
/** How often ending a receipt is tried, with pauses that grow: together less than its life. */
const maxAttempts = 8
const pause: BackoffOptions = { baseMs: 500, maxMs: 8000, jitter: 0.2 }

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
 * Decides an ask over several slots of a cluster, where no script sees all of it. Every slot takes its part under a
 * receipt, in parallel. If all allow, the receipts are confirmed in the background; if one denies or fails, the others
 * give theirs back by the receipt's id, which does nothing where nothing was taken. While a denial is being given back,
 * others may be denied for a moment.
 *
 * When the process is killed, what is not confirmed comes back with the receipt's expiry: the units of denied
 * decisions, and those of the decisions that it allowed in its last moment.
 */
export async function decideAcrossSlots(ask: Ask, across: AcrossSlots): Promise<Answer> {
  const hold = ask.kind === 'take' ? ask.hold : undefined
  // What is only spent must not become held because it shares a slot with what is.
  const partOf = (charge: Charge): string =>
    `${across.slotOf(charge)}${hold !== undefined && isSpent(charge, hold) ? ' spent' : ''}`
  const parts = split(ask.charges, partOf)
  if (ask.kind === 'take') return takeAcross(ask, parts, across)
  return merge(ask, parts, await Promise.all(parts.map(({ charges }) => across.decide({ ...ask, charges }))))
}

async function takeAcross(ask: TakeAsk, parts: readonly Part[], { decide, inTime, id }: AcrossSlots): Promise<Answer> {
  const holdId = ask.hold?.id ?? id()
  const receipt: HoldRequest = { id: holdId, ttlUs: receiptTtlUs, kind: 'receipt' }
  const isReceipt = ({ charges }: Part): boolean => ask.hold === undefined || isSpent(charges[0]!, ask.hold)
  const outcomes = await Promise.allSettled(
    parts.map((part) => decide({ ...ask, charges: part.charges, hold: isReceipt(part) ? receipt : ask.hold })),
  )
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  const answers = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : undefined))
  if (failed === undefined && answers.every((answer) => answer!.allowed)) {
    // Confirming goes with the next script call; nobody waits for it.
    for (const part of parts.filter(isReceipt))
      endReceipt(decide, { kind: 'settle', charges: part.charges, id: holdId }).catch(ignore)
    return merge(ask, parts, answers as Answer[])
  }
  const giveBack = Promise.allSettled(
    parts.map(({ charges }, p) =>
      answers[p]?.allowed === false
        ? undefined
        : endReceipt(decide, {
            kind: 'settle',
            charges: charges.map((charge) => ({ ...charge, cost: 0 })),
            id: holdId,
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
async function endReceipt(decide: AcrossSlots['decide'], ask: Ask): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await decide(ask)
    } catch (error) {
      if (attempt === maxAttempts) throw error
      const waitMs = backoffMs(attempt - 1, Math.random, pause)
      await new Promise<void>((resolve) => setTimeout(resolve, waitMs).unref())
    }
  }
}

function ignore(): void {}

/** Whether a charge of an ask with a hold is spent for good instead of held. */
function isSpent(charge: Charge, hold: HoldRequest): boolean {
  return hold.placesOnly === true && !charge.limits.needsHold
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
    granted: ask.kind === 'take' || ask.kind === 'peek' ? Math.min(...granted) : granted.reduce((sum, n) => sum + n, 0),
    nowUs: Math.max(...answers.map((answer) => answer.nowUs)),
    statuses,
    ...(ask.kind === 'peek' ? { holds } : {}),
  }
}
