import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { count } from '../report/format.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'

const mostGrowth = 20 * 2 ** 20

/** Resident memory after some records and after ten times as many. */
export async function benchMemory(records: number): Promise<CaseResult[]> {
  progress(`pipeline: memory after ${count(records)} and ${count(records * 10)} records`)
  const child = fileURLToPath(new URL('./memory-child.ts', import.meta.url))
  const args = ['--expose-gc', '--import', 'tsx', child, String(records)]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  const { first, last } = JSON.parse(stdout) as { first: number; last: number }
  const mb = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`
  return [
    {
      section: 'pipeline',
      title: 'memory over many records',
      table: [
        ['after', 'resident'],
        [`${count(records)} records`, mb(first)],
        [`${count(records * 10)} records`, mb(last)],
      ],
      figures: { first, last },
      targets: [
        {
          claim: 'at most 20 MiB more after ten times as many',
          ours: mb(last),
          peer: mb(first),
          figure: mb(last - first),
          met: last - first <= mostGrowth,
        },
      ],
    },
  ]
}
