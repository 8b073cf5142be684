import { collect } from '../measure/collect.ts'
import type { CaseResult } from '../report/result.ts'
import { benchGoodput } from './goodput.ts'

/** Capacity: how much a service still answers in time at several times the load that it can serve. */
export function benchCapacity(quick: boolean, only: string): Promise<CaseResult[]> {
  const seconds = quick ? 5 : 15
  return collect(
    [
      { title: 'goodput, connections kept', run: () => benchGoodput(seconds, false) },
      { title: 'goodput, reconnecting', run: () => benchGoodput(seconds, true) },
    ],
    only,
  )
}
