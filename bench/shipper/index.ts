import { collect } from '../measure/collect.ts'
import type { CaseResult } from '../report/result.ts'
import { benchAppend } from './append.ts'
import { benchDrain, benchStart } from './backlog.ts'

/** The shipper: durable appends compared with the raw disk and peers, start-up, memory and drain. */
export function benchShipper(rounds: number, quick: boolean, only: string): Promise<CaseResult[]> {
  const steps = [
    { title: 'append', run: () => benchAppend(rounds, quick ? 400 : 1000) },
    { title: 'start', run: () => benchStart(quick ? 600_000 : 4_900_000) },
    { title: 'drain', run: () => benchDrain(quick ? 200_000 : 1_000_000) },
  ]
  return collect(steps, only)
}
