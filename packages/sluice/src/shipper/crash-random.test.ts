import { expect, test } from 'vitest'
import { runLives } from '../testing/shipper/simulation/crash-lives.ts'

const runs = Number(process.env.SLUICE_CRASH_RUNS ?? 100)

test(`${runs} runs with up to five crashes, power cuts and disk failures lose nothing acknowledged`, {
  timeout: 1_200_000,
}, async () => {
  let [tornCrashes, repeated] = [0, 0]
  for (let run = 0; run < runs; run++) {
    const report = await runLives(run, { diskFails: true })
    expect({ run, wrong: report.wrong }).toEqual({ run, wrong: [] })
    tornCrashes += report.tornCrashes
    repeated += report.repeated
  }
  expect(tornCrashes).toBeGreaterThan(runs / 3)
  expect(repeated).toBeGreaterThan(0)
})

test('a crash between the removal of segments and the checkpoint that they made room for reports nothing as lost', async () => {
  expect((await runLives(804, { diskFails: true })).wrong).toEqual([])
})

test(`${runs} runs without disk failures repeat at most the batches in flight per crash`, {
  timeout: 1_200_000,
}, async () => {
  for (let run = 1_000_000; run < 1_000_000 + runs; run++) {
    const { wrong } = await runLives(run, { diskFails: false })
    expect({ run, wrong }).toEqual({ run, wrong: [] })
  }
})
