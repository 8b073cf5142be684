import { type Effort, runCase } from '../measure/case.ts'
import { collect } from '../measure/collect.ts'
import type { CaseResult } from '../report/result.ts'
import { breakerCases } from './cases.ts'

/** Calls through a breaker, compared with cockatiel and opossum. */
export function benchBreaker(effort: Effort, only: string): Promise<CaseResult[]> {
  const cases = breakerCases.map((spec) => ({ title: spec.title, run: () => runCase(spec, undefined, effort) }))
  return collect(cases, only)
}
