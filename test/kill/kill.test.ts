import { expect, test } from 'vitest'
import { runKills } from './run.ts'

test('16 SIGKILLs of writers and flushers lose no acknowledged event', { timeout: 120_000 }, async () => {
  const { acknowledged, missing, duplicates, kills, batch, lost } = await runKills(16, 'source')
  expect(acknowledged).toBeGreaterThan(100)
  expect({ missing, lost }).toEqual({ missing: [], lost: 0 })
  expect(duplicates).toBeLessThanOrEqual(kills * batch)
})
