import { type Effort, runCase } from '../measure/case.ts'
import { collect } from '../measure/collect.ts'
import type { CaseResult } from '../report/result.ts'
import { memoryCases } from './cases.ts'
import { memoryFootprint } from './footprint.ts'

/** The memory store against RateLimiterMemory. */
export function benchMemory(effort: Effort, keys: number, only: string): Promise<CaseResult[]> {
  const cases = memoryCases.map((spec) => ({ title: spec.title, run: () => runCase(spec, undefined, effort) }))
  return collect([...cases, { title: 'bytes per key', run: () => memoryFootprint(keys) }], only)
}
