import { costOf, type Decider } from './capacity.ts'
import { grantsOf, move } from './grants.ts'
import { enter } from './log.ts'
import type { RegisterStep, StepResult } from './messages.ts'

/** What exchanges and clocks may differ by when a grant is compared with the copy of a log. */
const slackUs = 500_000
/** The copy of a log must not be older than this: processes keep what they were granted for a little longer. */
export const mirrorLastsUs = 4_000_000

/**
 * Enters what a process knows. Calls were granted by earlier states. Where such a state was kept, as after a failover,
 * they are still in its logs; what has arrived is moved. All others are in no log, except in that of a long limit of
 * which a copy was registered: there, only later ones are entered.
 */
export function register(by: Decider, owner: string, step: RegisterStep, isNew: boolean): StepResult {
  const { state, limits } = by
  const { timeUs, verifiedUs } = state.time
  const record = state.owners.get(owner)!
  record.granted = record.ended + step.inFlight
  record.hasLeft = false
  // Its first registration may have been executed although it had no answer.
  if (!isNew) return { is: 'ok' }
  if (verifiedUs < state.openUs) enterMirrors(by, step)
  const own = grantsOf(state, owner)
  const kept = new Map(own)
  for (const { grant, agoUs, inUs, units } of step.grants) {
    const atUs = timeUs + inUs
    const before = kept.get(grant)
    if (before) {
      if (inUs <= 0 && atUs < before.arrivesUs) move(by, before, atUs)
      kept.delete(grant)
      continue
    }
    for (const limit of limits) {
      const log = state.logs.get(limit.key)
      if (log === undefined || (log.mirroredUs > 0 && timeUs - agoUs < log.mirroredUs - slackUs)) continue
      enter(log, limit, atUs, costOf(limit, units), Math.min(timeUs, atUs))
    }
    if (inUs > 0) own.set(grant, { units, no: 0, id: '', arrivesUs: atUs })
  }
  // What the process has forgotten has arrived.
  for (const [name, record] of kept) {
    if (timeUs < record.arrivesUs) move(by, record, timeUs)
    own.delete(name)
  }
  return { is: 'ok' }
}

/** The first copy of each long limit that is recent enough; with it the log is as complete as it was. */
function enterMirrors({ state, limits }: Decider, { mirrors }: RegisterStep): void {
  const { timeUs } = state.time
  for (const { key, agoUs, completeUs, entries } of mirrors) {
    const log = state.logs.get(key)
    const limit = limits.find((each) => each.key === key)
    if (!log || !limit || log.mirroredUs > 0 || agoUs > mirrorLastsUs) continue
    log.mirroredUs = timeUs - agoUs
    log.sinceUs = completeUs < 0 ? 0 : Math.max(1, log.mirroredUs - completeUs)
    for (const [inUs, units] of entries) enter(log, limit, timeUs + inUs, units, timeUs + inUs)
  }
}
