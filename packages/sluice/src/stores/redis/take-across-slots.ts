import { type BackoffOptions, backoffMs } from '../../core/backoff.ts'
import type { Clock } from '../../core/clock.ts'
import type { Answer, Ask, Charge, HoldRequest, TakeAsk } from '../../core/engine/ask.ts'
import { changeCharge } from '../../core/engine/charge.ts'
import { backgroundClock } from '../../runtime/background-clock.ts'
import { sleep } from '../../runtime/sleep.ts'

/**
 * How long a decision over several slots may stay unconfirmed. When its receipt expires its units come back, as after
 * the death of the process that asked. Confirming takes a round trip, and is tried again for half of this time after a
 * failure: only then must a receipt not have expired, or an allowed decision would be free. So it has to outlast the
 * attempts below, and a failover of the node.
 */
export const receiptTtlUs = 60_000_000
/** How often ending a receipt is tried, with pauses that grow: together less than its life. */
const maxAttempts = 8
const pause: BackoffOptions = { baseMs: 500, maxMs: 8000, jitter: 0.2 }

/** The charges of an ask that are decided together, as they lie in one slot. */
export interface Part {
  readonly charges: readonly Charge[]
  /** Which charges of the whole ask these are. */
  readonly indices: readonly number[]
}

export interface SlotStore {
  /** Decides an ask whose subjects lie in one slot. */
  decide(ask: Ask): Promise<Answer>
  /** What comes of some work, or undefined when it is not done by the deadline of the whole ask. */
  inTime<T>(work: Promise<T>): Promise<T | undefined>
  readonly clock: Clock
  random(): number
  id(): string
}

/** Whether a charge of an ask is spent permanently instead of held. */
export function isSpent(charge: Charge, hold: HoldRequest | undefined): boolean {
  return hold === undefined || (hold.permitsOnly === true && !charge.limits.needsHold)
}

/**
 * Takes every slot's part in parallel: what is spent under a receipt that only this ask knows, what is held under the
 * hold's id. If all allow, receipts and permits are confirmed in the background; if one denies or fails, what this ask
 * took is given back, and a hold that was there before stays as it was. While a denial is being given back, others may
 * be denied for a moment.
 *
 * When the process is killed, what is not confirmed comes back by expiring: the units of denied decisions, and those of
 * the decisions that it allowed in its last moment.
 */
export async function takeAcross(
  ask: TakeAsk,
  parts: readonly Part[],
  store: SlotStore,
): Promise<{ allowed: boolean; answers: Answer[] }> {
  const askedMs = store.clock.monotonic()
  const receipt: HoldRequest = { id: store.id(), ttlUs: receiptTtlUs, kind: 'receipt' }
  const held = ask.hold && unconfirmed(ask.hold)
  const holdOf = ({ charges }: Part): HoldRequest => (isSpent(charges[0]!, ask.hold) ? receipt : held!)
  const outcomes = await Promise.allSettled(
    parts.map((part) => store.decide({ ...ask, charges: part.charges, hold: holdOf(part) })),
  )
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  const answers = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : undefined))
  const isReceipt = (part: Part): boolean => holdOf(part) === receipt
  const isRepeated = failed === undefined && hasAll(answers.filter((_, p) => !isReceipt(parts[p]!)) as Answer[])
  const allowed =
    failed === undefined && parts.every((part, p) => answers[p]!.allowed || (isRepeated && isReceipt(part)))

  if (allowed && !isRepeated) {
    // Confirming goes with the next script call, in the background.
    for (const [p, part] of parts.entries()) {
      const confirm = isReceipt(part) ? settle(part.charges, receipt.id) : confirmation(part, answers[p]!, held!)
      if (confirm !== undefined) persist(store, confirm).catch(ignore)
    }
    return { allowed, answers: answers as Answer[] }
  }
  const giveBack = Promise.all(
    parts
      .map(async (part, p) => {
        const answer = answers[p]
        if (answer?.allowed === false) return undefined
        if (isReceipt(part)) return persist(store, settle(free(part.charges), receipt.id))
        if (allowed) return undefined
        return answer === undefined
          ? undoUnknown(store, part, held!.id, askedMs)
          : undo(store, part.charges, answer, held!.id)
      })
      .map((work) => work.catch(ignore)),
  )
  // The caller does not wait for it longer than for the decision itself.
  if (failed !== undefined) throw failed.reason
  const returned = await store.inTime(giveBack)
  return {
    allowed,
    answers: answers.map((answer, p) => {
      const now = { ...answer!, allowed, statuses: returned?.[p]?.statuses ?? answer!.statuses }
      return allowed ? withoutWait(now) : now
    }),
  }
}

/** Permits of an unconfirmed decision come back with all that was spent on them; a reservation does so anyway. */
function unconfirmed({ id, ttlUs, kind }: HoldRequest): HoldRequest {
  return { id, ttlUs, kind: kind === 'acquire' ? 'pending' : kind }
}

/**
 * Whether the hold was there before on all subjects that it is for: then what is spent beside it was paid for. One that
 * is not confirmed does not count, as whoever asks for it at this moment may yet be denied.
 */
function hasAll(held: readonly Answer[]): boolean {
  const known = held.flatMap((answer) => answer.known!)
  return known.length > 0 && known.every((each) => each !== undefined && each.kind !== 'pending')
}

function confirmation({ charges }: Part, { known }: Answer, { id, ttlUs, kind }: HoldRequest): Ask | undefined {
  if (kind !== 'pending') return undefined
  const open = charges.filter((_, c) => known?.[c] === undefined || known[c].kind === 'pending')
  return open.length === 0 ? undefined : { kind: 'extend', charges: open, id, ttlUs }
}

/** Gives back what an ask added to a hold: all of it where it began the hold, else what came on top. */
async function undo(
  store: SlotStore,
  charges: readonly Charge[],
  { known }: Answer,
  id: string,
): Promise<Answer | undefined> {
  const begun = charges.filter((_, c) => known?.[c] === undefined)
  const grown = charges.flatMap((charge, c) => {
    const before = known?.[c]?.cost
    return before !== undefined && before < charge.cost ? [changeCharge(charge, { cost: before })] : []
  })
  const asks: Ask[] = []
  if (begun.length > 0) asks.push(settle(free(begun), id))
  if (grown.length > 0) asks.push({ kind: 'resize', charges: grown, id })
  const answers = await Promise.all(asks.map((ask) => persist(store, ask)))
  // The statuses of some charges would not be those of the part.
  return answers.length === 1 && answers[0]!.statuses.length === charges.length ? answers[0] : undefined
}

/**
 * Gives back what an ask took whose answer was lost. A hold older than the ask was there before, and stays: somebody
 * relies on it.
 */
async function undoUnknown(store: SlotStore, { charges }: Part, id: string, askedMs: number): Promise<undefined> {
  const { holds, nowUs } = await persist(store, { kind: 'peek', charges })
  const longestUs = (store.clock.monotonic() - askedMs) * 1000
  const begun = charges.filter((_, c) => {
    const hold = holds![c]!.find((each) => each.id === id)
    return hold !== undefined && nowUs - hold.takenUs <= longestUs
  })
  if (begun.length > 0) await persist(store, settle(free(begun), id))
}

function settle(charges: readonly Charge[], id: string): Ask {
  return { kind: 'settle', charges, id }
}

function free(charges: readonly Charge[]): Charge[] {
  return charges.map((charge) => changeCharge(charge, { cost: 0 }))
}

function withoutWait(answer: Answer): Answer {
  return { ...answer, statuses: answer.statuses.map((all) => all.map((status) => ({ ...status, retryAfterMs: 0 }))) }
}

/** Tries for a while: what broke the decision may break this too, and the id makes doing it twice harmless. */
async function persist({ decide, clock, random }: SlotStore, ask: Ask): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await decide(ask)
    } catch (error) {
      if (attempt === maxAttempts) throw error
      await sleep(backoffMs(attempt - 1, random, pause), backgroundClock(clock))
    }
  }
}

function ignore(): undefined {
  return undefined
}
