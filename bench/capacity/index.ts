import { collect } from '../measure/collect.ts'
import type { CaseResult } from '../report/result.ts'
import { benchGoodput } from './goodput.ts'

/** Capacity: what a service still answers in time when it is asked for several times as much as it can do. */
export function benchCapacity(quick: boolean, only: string): Promise<CaseResult[]> {
  return collect([{ title: 'goodput', run: () => benchGoodput(quick ? 6 : 15) }], only)
}
