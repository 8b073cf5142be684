import { memoryStore } from 'sluice'
import { benchCases, type CaseResult, runCase } from '../bench/run-case.ts'
import type { ExitCode } from '../exit-codes.ts'
import type { Input } from '../input.ts'
import { openStore } from '../target/open-store.ts'
import { count, duration } from '../terminal/numbers.ts'
import { progress } from '../terminal/progress.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { columns, shorten } from '../terminal/text.ts'

/** Measures decisions per second, in memory and against the Redis that was named. */
export async function bench(input: Input, terminal: Terminal): Promise<ExitCode> {
  const ms = (input.whole('duration', 1) ?? 3) * 1000
  const load = { ms, concurrency: input.whole('concurrency', 1) ?? 64, keys: input.whole('keys', 1) ?? 10_000 }
  const url = input.text('redis')
  const redis = url === undefined ? undefined : await openStore(url)
  const stores = [
    { name: 'memory', open: () => memoryStore() },
    ...(redis === undefined ? [] : [{ name: redis.description, open: redis.open }]),
  ]
  const shown = progress(terminal)
  const results: CaseResult[] = []
  const total = stores.length * benchCases.length
  try {
    for (const store of stores) {
      for (const name of benchCases) {
        const report = (share: number, perSecond: number): void =>
          shown.at(
            (results.length + share) / total,
            `${shorten(store.name, 40)}: ${name}  ${count(perSecond)} decisions/s`,
          )
        results.push(await runCase(store, name, load, report))
      }
    }
  } finally {
    shown.end()
    await redis?.close()
  }
  terminal.result({ ...load, results }, () => show(results, terminal))
  return results.some(({ failed }) => failed > 0) ? 1 : 0
}

function show(results: readonly CaseResult[], { style, line }: Terminal): void {
  const head = ['store', 'case', 'decisions/s', 'median', '99%', 'failed'].map(style.faint)
  const rows = results.map(({ store, name, perSecond, p50Ms, p99Ms, failed }) => [
    ...[shorten(store, 40), name, style.strong(count(perSecond)), duration(p50Ms), duration(p99Ms)],
    failed === 0 ? '0' : style.bad(count(failed)),
  ])
  for (const text of columns([head, ...rows], ['left', 'left', 'right', 'right', 'right', 'right'])) line(text)
  line(style.faint('One process asked and waited; a service with several replicas gets more out of the same Redis.'))
}
