import { describe, expect, it } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import { type HistoryOptions, type HistoryOutcome, runHistory } from './simulation/recount-history.ts'

/** `SLUICE_RECOUNT_HISTORIES=5000 npx vitest run recount-histories` is the long form. */
const histories = Number(process.env.SLUICE_RECOUNT_HISTORIES ?? 30)
const seed = Number(process.env.SLUICE_SEED ?? Date.now() % 1_000_000_000)
const cap = 20
const all = { steps: 60, cap, replicas: 1, lag: 0, wipes: true, losesMessages: true, sourceFails: true }

/** Runs random histories, and fails with the log of the first that `isRight` refuses. */
async function each(
  options: Omit<HistoryOptions, 'seed'>,
  isRight: (admitted: number, outcome: HistoryOutcome) => boolean,
): Promise<void> {
  for (let run = seed; run < seed + histories; run++) {
    const outcome = await runHistory({ ...options, seed: run }, virtualClock(Date.UTC(2026, 5, 1)))
    const { admitted, log } = outcome
    if (!admitted.every((units) => isRight(units, outcome)))
      expect.fail(`SLUICE_SEED=${run}: ${admitted.join(', then ')} of ${cap} were admitted\n${log.join('\n')}`)
  }
}

describe(`${histories} random histories of a cap that is recounted (seed ${seed})`, { timeout: 1_800_000 }, () => {
  it('never pass the cap in one process', () => each(all, (admitted) => admitted <= cap))

  it('never pass the cap in one process whose source is behind', () =>
    each({ ...all, lag: cap }, (admitted) => admitted <= cap))

  it('never pass the cap of either day when a day ends meanwhile', () =>
    each({ ...all, midnight: true }, (admitted) => admitted <= cap))

  it('use up the cap in one process where nothing is lost', () =>
    each({ ...all, wipes: false, losesMessages: false }, (admitted) => admitted === cap))

  it('use up the cap of a day, whatever was used in the day before', () =>
    each({ ...all, wipes: false, losesMessages: false, midnight: true }, (_, { admitted, betweenDays }) => {
      return admitted.at(-1)! + betweenDays >= cap
    }))

  const shares = 2 * Math.floor(cap / 3)

  it('pass the cap of three processes by no more than the shares of the two others', () =>
    each({ ...all, replicas: 3, wipes: false }, (admitted) => admitted <= cap + shares))

  it('pass it by no more than the cap again with each loss of the counters', () =>
    each({ ...all, replicas: 3 }, (admitted, { wiped }) => admitted <= cap + shares + wiped * cap))

  it('pass it by no more than the source is behind besides', () =>
    each({ ...all, replicas: 3, wipes: false, lag: 6 }, (admitted) => admitted <= cap + shares + 6))
})
