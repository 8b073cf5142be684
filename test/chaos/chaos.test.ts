import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RedisServer, startRedis } from '../../packages/sluice/src/testing/servers/redis.ts'
import { bundled } from '../bundled.ts'
import { libraries } from './clients.ts'
import { grownWhileDown } from './faults/memory.ts'
import type { Context } from './scenario.ts'
import { scenarios } from './scenarios.ts'

// A shorter version of `npm run test:chaos`. Counts are judged here, not times: other tests run beside it.
const context: Context = { cycles: 1, scale: 0.1, judgeTime: false, progress: () => undefined }
const chosen = [
  'phantoms',
  'server',
  'lost-replies',
  'lost-replies-cluster',
  'sentinel-killed-ioredis',
  'sentinel-frozen-ioredis',
  'cluster-node-redis',
  'sentinel-planned-ioredis',
  'damaged-values',
  'clocks',
  'early-close',
]

test.each(chosen)('chaos: %s', async (name) => {
  const rows = await scenarios.find((scenario) => scenario.name === name)!.run(context)
  expect(rows.length).toBeGreaterThan(0)
  for (const row of rows) expect(row).toMatchObject({ overAdmitted: 0, phantom: 0, unsettled: 0, wrong: [] })
})

test('a hundred thousand decisions without Redis leave memory as it was', async () => {
  const { degraded, grownMb } = await grownWhileDown('ioredis', 100_000, 'local')
  expect(degraded).toBe(100_000)
  expect(grownMb).toBeLessThan(16)
})

describe('a process that has closed its limiter exits by itself', () => {
  let redis: RedisServer
  let script: string
  beforeAll(async () => {
    redis = await startRedis()
    script = await bundled(join(import.meta.dirname, 'child', 'exit.ts'))
  })
  afterAll(() => redis?.stop())
  const exit = (library: string, port: number): Promise<{ stdout: string }> =>
    promisify(execFile)(process.execPath, [script, library, String(port)], { timeout: 30_000 })

  test.each(libraries)('%s', async (library) => {
    expect(JSON.parse((await exit(library, redis.port)).stdout)).toEqual({ closed: true, settled: 100, exact: 100 })
  })

  test.each(libraries)('%s, when nothing listens', async (library) => {
    expect(JSON.parse((await exit(library, 1)).stdout)).toEqual({ closed: true, settled: 100, exact: 0 })
  })
})
