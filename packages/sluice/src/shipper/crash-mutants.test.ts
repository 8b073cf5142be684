import { expect, test } from 'vitest'
import { runLives } from '../testing/shipper/simulation/crash-lives.ts'
import { leaveOut } from '../testing/shipper/simulation/leave-out.ts'
import { harmless, type Mutant, mutants } from '../testing/shipper/simulation/mutants.ts'

const runs = Number(process.env.SLUICE_MUTANT_RUNS ?? 40)
const timeout = 600_000

/** A crash at every step of each: the first two show all rare mutants, as the shipper is. */
const seedsTried = [8, 6, 0, 1, 2, 3, 4, 5, 7, 9]

/** Runs a mutant until a promise is broken; returns which one, and how often the step was left out. */
async function lookFor(mutant: Mutant, limit: number): Promise<{ leftOut: number; wrong: readonly string[] }> {
  let leftOut = 0
  const isLeftOut: Mutant['isLeftOut'] = (step) => {
    const isOut = mutant.isLeftOut(step)
    if (isOut) leftOut++
    return isOut
  }
  for (let run = 0; run < limit; run++) {
    const { wrong } = await runLives(mutant.isRare ? (seedsTried[Math.floor(run / 250)] ?? 0) : run, {
      diskFails: mutant.diskFails ?? false,
      view: (fs) => leaveOut(fs, isLeftOut),
      ...(mutant.isRare ? { crashAt: run % 250 } : {}),
    })
    if (wrong.length > 0) return { leftOut, wrong }
  }
  return { leftOut, wrong: [] }
}

test.each(mutants)('the crash test notices a shipper that does not $step', { timeout }, async (mutant) => {
  const { wrong } = await lookFor(mutant, mutant.isRare ? 2500 : 250)
  expect(wrong).not.toEqual([])
})

test.each(harmless)('no promise depends on this: $step ($why)', { timeout }, async (mutant) => {
  const { leftOut, wrong } = await lookFor(mutant, runs)
  expect(wrong).toEqual([])
  expect(leftOut).toBeGreaterThan(0)
})
