// Measures Sluice against its peers and prints ratios. See README.md in this folder.
import { existsSync, writeFileSync } from 'node:fs'
import { benchBreaker } from './breaker/index.ts'
import { benchCache } from './cache/index.ts'
import { benchCapacity } from './capacity/index.ts'
import { benchEgress } from './egress/index.ts'
import { benchMemory } from './memory/index.ts'
import { type BenchOptions, readOptions, type Section, usage } from './options.ts'
import { benchPipeline } from './pipeline/index.ts'
import { benchPostgres } from './postgres/index.ts'
import { benchRedis } from './redis/index.ts'
import { printSummary, progress } from './report/print.ts'
import type { CaseResult } from './report/result.ts'
import { benchShipper } from './shipper/index.ts'
import { surroundings } from './surroundings.ts'

type OtherBench = (options: BenchOptions) => Promise<unknown>

/**
 * Sections that print their own results; what they return is written to the JSON unchanged. Loaded only when selected.
 */
const others: Record<
  Exclude<
    Section,
    'redis' | 'memory' | 'postgres' | 'breaker' | 'cache' | 'shipper' | 'capacity' | 'egress' | 'pipeline'
  >,
  () => Promise<OtherBench | undefined>
> = {
  policy: async () => (await import('./policy-match.ts')).benchPolicy,
  http: async () => (await import('./http.ts')).benchHttp,
  server: () => optional('./server.ts', 'benchServer'),
  page: async () => (await import('./page.ts')).benchPage,
}

async function optional(file: string, name: string): Promise<OtherBench | undefined> {
  const url = new URL(file, import.meta.url)
  if (!existsSync(url)) return undefined
  return ((await import(url.href)) as Record<string, OtherBench | undefined>)[name]
}

async function runOther(section: keyof typeof others, options: BenchOptions): Promise<unknown> {
  const bench = await others[section]()
  if (bench === undefined) progress(`${section}: there is nothing to run yet`)
  return bench?.(options)
}

async function run(section: Section, options: BenchOptions, measured: CaseResult[]): Promise<unknown> {
  const effort = { rounds: options.rounds, roundMs: options.quick ? 250 : 500 }
  if (
    section !== 'redis' &&
    section !== 'memory' &&
    section !== 'postgres' &&
    section !== 'breaker' &&
    section !== 'cache' &&
    section !== 'shipper' &&
    section !== 'capacity' &&
    section !== 'egress' &&
    section !== 'pipeline'
  )
    return runOther(section, options)
  const only = options.only ?? ''
  const keys = options.quick ? 100_000 : 1_000_000
  const benches = {
    redis: () => benchRedis(effort, only),
    memory: () => benchMemory(effort, keys, only),
    postgres: () => benchPostgres(effort, only),
    breaker: () => benchBreaker(effort, only),
    cache: () => benchCache(effort, only),
    egress: () => benchEgress(effort, only),
    shipper: () => benchShipper(effort.rounds, options.quick, only),
    capacity: () => benchCapacity(options.quick, only),
    pipeline: () => benchPipeline(Math.min(3, effort.rounds), options.quick, only),
  }
  const results = await benches[section]()
  measured.push(...results)
  return results.map(({ title, figures, targets }) => ({ title, figures, targets }))
}

async function main(options: BenchOptions): Promise<void> {
  const built = import.meta.resolve('sluice')
  if (!built.endsWith('/dist/index.js')) throw new Error(`the bench measures the built library, not ${built}`)
  const where = surroundings()
  for (const [name, value] of Object.entries(where)) console.log(`${name.padEnd(22)} ${value}`)
  const measured: CaseResult[] = []
  const figures: Record<string, unknown> = {}
  for (const section of options.sections) figures[section] = await run(section, options, measured)
  printSummary(measured)
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify({ surroundings: where, options, figures }, undefined, 2)}\n`)
}

let options: BenchOptions | undefined
try {
  options = readOptions(process.argv.slice(2))
} catch (error) {
  progress(`${(error as Error).message}\n${usage}`)
  process.exitCode = 2
}
if (options !== undefined) await main(options)
