import type { CaseResult } from './result.ts'
import { layOut } from './table.ts'

/** Prints the table of a case and its result for the targets. */
export function printCase({ section, title, table, targets }: CaseResult): void {
  console.log(`\n${section}: ${title}\n${layOut(table)}`)
  for (const { claim, figure, met } of targets) console.log(`  ${met ? 'met   ' : 'missed'}  ${claim}: ${figure}`)
}

/** Prints all targets of the run in one table. */
export function printSummary(results: readonly CaseResult[]): void {
  const rows = results.flatMap(({ title, targets }) =>
    targets.map(({ claim, ours, peer, figure, met }) => [title, ours, peer, figure, claim, met ? 'met' : 'missed']),
  )
  if (rows.length === 0) return
  console.log(`\nTargets\n${layOut([['case', 'ours', 'peer', 'figure', 'target', ''], ...rows])}`)
}

/** Reports progress on stderr, so that stdout has only results. */
export function progress(text: string): void {
  process.stderr.write(`${text}\n`)
}
