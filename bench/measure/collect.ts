import { printCase, progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'

/** Prints what each step measured as soon as it is there. A step that fails is told of, and the others still run. */
export async function collect(steps: readonly (() => Promise<readonly CaseResult[]>)[]): Promise<CaseResult[]> {
  const results: CaseResult[] = []
  for (const step of steps) {
    try {
      const more = await step()
      more.forEach(printCase)
      results.push(...more)
    } catch (error) {
      progress(`not measured: ${(error as Error).stack ?? error}`)
    }
  }
  return results
}
