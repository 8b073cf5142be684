import { type Effort, runCase } from '../measure/case.ts'
import { collect } from '../measure/collect.ts'
import type { CaseResult } from '../report/result.ts'
import { memoryCases } from './cases.ts'
import { memoryFootprint } from './footprint.ts'

/** The memory store against RateLimiterMemory. */
export function benchMemory(effort: Effort, keys: number): Promise<CaseResult[]> {
  return collect([...memoryCases.map((spec) => () => runCase(spec, undefined, effort)), () => memoryFootprint(keys)])
}
