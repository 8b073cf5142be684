import { describe, expect, test } from 'vitest'
import { virtualClock } from '../../../testing/virtual-clock.ts'
import { mutants } from './mutants.ts'
import {
  answeredTooLate,
  backAndForward,
  failover,
  fastClocks,
  honestVendor,
  jumpOverSilence,
  randomSchedule,
  stoppedWriters,
} from './schedules.ts'

const runs = Number(process.env.SLUICE_EGRESS_RUNS ?? 60)
/** So many schedules are tried for each mutant. */
const tries = Number(process.env.SLUICE_EGRESS_TRIES ?? 120)
const timeout = 3_600_000

test('no random schedule of faults lets the vendor see more than a limit allows', { timeout }, async () => {
  let arrivals = 0
  for (let seed = 1; seed <= runs; seed++) {
    const outcome = await randomSchedule(virtualClock(), seed)
    arrivals += outcome.arrivals.length
    expect(outcome.isBroken, `seed ${seed}: ${outcome.most}`).toBe(false)
  }
  expect(arrivals).toBeGreaterThan(runs * 10)
})

test.each([
  ['both clocks are fast', fastClocks],
  ['the clock jumps over the silence after a loss', jumpOverSilence],
  ['the clock goes back and forward while a process is stopped', backAndForward],
  ['the server answers too late', answeredTooLate],
  ['processes are stopped before they write', stoppedWriters],
  ['a replica takes over while calls are in flight', failover],
])('nor when %s', { timeout }, async (_, schedule) => {
  for (let seed = 1; seed <= 10; seed++) {
    const outcome = await schedule(virtualClock(), seed)
    expect(outcome.isBroken, `seed ${seed}: ${outcome.most}`).toBe(false)
    expect(outcome.arrivals.length).toBeGreaterThan(10)
  }
})

test('a replica that takes over does not count calls for as long as they could have taken', { timeout }, async () => {
  const counts: number[] = []
  for (let seed = 1; seed <= 10; seed++) counts.push((await failover(virtualClock(), seed)).arrivals.length)
  // 5 per second for about 22 s, less three silences; 45 to 55 where what was in flight stays in the logs.
  expect(Math.min(...counts)).toBeGreaterThan(55)
})

test.each([1, 15, 500])('a vendor that reports what is left after %i ms is used at full rate', async (latencyMs) => {
  const { arrivals, isBroken, most } = await honestVendor(virtualClock(), 1, latencyMs)
  expect(isBroken, `${most}`).toBe(false)
  const last = arrivals.filter((at) => at >= 4000)
  const rounds = Math.floor((last.length - 1) / 25) * 25
  expect((rounds * 1000) / (last[rounds]! - last[0]!)).toBeGreaterThan(24)
})

describe('the simulation notices an egress without', () => {
  test.each(mutants)('$lacks', { timeout }, async ({ make, schedule }) => {
    let broken = 0
    for (let seed = 1; seed <= tries && broken === 0; seed++) {
      const outcome = await (schedule ?? randomSchedule)(virtualClock(), seed, make())
      if (outcome.isBroken) broken = seed
    }
    expect(broken).toBeGreaterThan(0)
  })
})
