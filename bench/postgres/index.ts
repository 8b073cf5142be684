import { startPostgres } from 'sluice/testing'
import { type Effort, runCase } from '../measure/case.ts'
import { collect } from '../measure/collect.ts'
import type { CaseResult } from '../report/result.ts'

/** The store on PostgreSQL against RateLimiterPostgres. */
export async function benchPostgres(effort: Effort, only: string): Promise<CaseResult[]> {
  const postgres = await startPostgres()
  const setup = { postgresUrl: postgres.url }
  const spec = {
    section: 'postgres',
    title: '10,000 subjects, 1 limit, allowed, 64 in flight',
    subjects: 10_000,
    limits: [{ amount: 1_000_000_000, seconds: 60 }],
    expect: 'allowed',
    entries: [
      { label: 'sluice', contender: 'sluice on PostgreSQL', setup },
      { label: 'RateLimiterPostgres', contender: 'rate-limiter-flexible on PostgreSQL', setup },
    ],
    loads: [{ inFlight: 64, targets: [{ against: 'RateLimiterPostgres', atLeast: 1 }] }],
  } as const
  return collect([{ title: spec.title, run: () => runCase(spec, undefined, effort) }], only).finally(() =>
    postgres.stop(),
  )
}
