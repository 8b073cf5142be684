import { printCase, progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'

export interface Step {
  readonly title: string
  readonly run: () => Promise<readonly CaseResult[]>
}

/**
 * Prints the result of each step with `only` in its title, as soon as it is available. One that fails is reported, and
 * the others still run.
 */
export async function collect(steps: readonly Step[], only: string): Promise<CaseResult[]> {
  const results: CaseResult[] = []
  for (const step of steps.filter(({ title }) => title.includes(only))) {
    try {
      const more = await step.run()
      more.forEach(printCase)
      results.push(...more)
    } catch (error) {
      progress(`not measured: ${(error as Error).stack ?? error}`)
    }
  }
  return results
}
