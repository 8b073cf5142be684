import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { count } from '../report/format.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'

const child = fileURLToPath(new URL('./footprint-child.ts', import.meta.url))
const run = promisify(execFile)
const entries = 100_000

interface Footprint {
  readonly measured: number
  readonly counted?: number
}

/** The bytes of an entry of the first level, compared with the cache's own estimate, and with lru-cache. */
export async function benchFootprint(): Promise<CaseResult> {
  progress('cache: bytes per entry')
  const ours = await footprintOf('sluice')
  const theirs = await footprintOf('lru-cache')
  const counted = ours.counted ?? 0
  return {
    section: 'cache',
    title: `bytes per entry in process at ${count(entries)} entries, key and value of about 250 bytes included`,
    table: [
      ['cache', 'measured', 'counted against maxBytes'],
      ['sluice', count(ours.measured), count(counted)],
      ['lru-cache', count(theirs.measured), ''],
    ],
    figures: { ours, theirs },
    targets: [
      {
        claim: 'what is counted against maxBytes is at least what an entry costs',
        ours: count(ours.measured),
        peer: count(counted),
        figure: `${count(ours.measured)} bytes`,
        met: counted >= ours.measured,
      },
    ],
  }
}

async function footprintOf(name: string): Promise<Footprint> {
  const { stdout } = await run(process.execPath, [
    ...process.execArgv,
    '--expose-gc',
    '--max-old-space-size=4096',
    child,
    name,
    String(entries),
  ])
  return JSON.parse(stdout) as Footprint
}
