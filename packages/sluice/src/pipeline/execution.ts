import { didYouMean } from '../core/did-you-mean.ts'
import { invalidOption } from '../core/errors.ts'
import type { Report } from '../policy/document/policy-error.ts'

/** How a batch run splits its source. */
export interface Partitioning {
  readonly strategy: 'hash' | 'range' | 'round_robin'
  /** The field whose value decides; needed by `hash`. */
  readonly key?: string
  readonly partitions: number
}

/** How a pipeline runs: a load that ends, or a stream that does not. */
export type Execution =
  | {
      readonly mode?: 'batch'
      /** Records per batch; 1,000 by default. */
      readonly batchSize?: number
      /** Batches that are worked on at the same time, each of another partition; 1 by default. */
      readonly parallelism?: number
      /** Without it, the source is one partition. */
      readonly partitioning?: Partitioning
    }
  | {
      readonly mode: 'streaming'
      readonly batchSize?: number
      readonly parallelism?: number
      /** How often positions are saved, where neither the sink nor the source does it with each batch; 5,000. */
      readonly checkpointIntervalMs?: number
    }

/** An execution with its defaults filled in. */
export interface ResolvedExecution {
  readonly mode: 'batch' | 'streaming'
  readonly batchSize: number
  readonly parallelism: number
  readonly partitioning: Partitioning | undefined
  readonly checkpointIntervalMs: number
}

const defaults = { batchSize: 1000, parallelism: 1, checkpointIntervalMs: 5000 }
const strategies: readonly string[] = ['hash', 'range', 'round_robin']
const fieldsOf = {
  batch: ['mode', 'batchSize', 'parallelism', 'partitioning'],
  streaming: ['mode', 'batchSize', 'parallelism', 'checkpointIntervalMs'],
}
const most = { batchSize: 100_000, parallelism: 256, checkpointIntervalMs: 86_400_000, partitions: 1024 }

/** Reads an `execution`; each mistake goes to `report` with its path, its value and what would be right. */
export function readExecution(given: unknown, path: string, report: Report): ResolvedExecution {
  const spec = objectAt(given, path, report) as Partial<ResolvedExecution>
  const mode = spec.mode === 'streaming' ? 'streaming' : 'batch'
  if ((spec.mode ?? 'batch') !== mode) report(`${path}.mode`, spec.mode, 'use batch or streaming')
  checkFields(spec, fieldsOf[mode], path, report, (name) =>
    name in most || name === 'partitioning' ? `mode ${mode} has no ${name}; leave it out` : undefined,
  )
  const count = (name: keyof typeof defaults): number => {
    const value = spec[name] ?? defaults[name]
    return wholeAt(value, 1, most[name], `${path}.${name}`, report) ? value : defaults[name]
  }
  return {
    mode,
    batchSize: count('batchSize'),
    parallelism: count('parallelism'),
    checkpointIntervalMs: count('checkpointIntervalMs'),
    partitioning: mode === 'batch' ? partitioningOf(spec.partitioning, `${path}.partitioning`, report) : undefined,
  }
}

function partitioningOf(given: unknown, path: string, report: Report): Partitioning | undefined {
  if (given === undefined) return undefined
  const spec = objectAt(given, path, report) as Partial<Partitioning>
  checkFields(spec, ['strategy', 'key', 'partitions'], path, report)
  const { strategy, key, partitions } = spec
  if (!strategies.includes(strategy as string)) report(`${path}.strategy`, strategy, 'use hash, range or round_robin')
  if (key === undefined ? strategy === 'hash' : typeof key !== 'string' || key === '')
    report(`${path}.key`, key, 'name the field to partition by, such as customer_id')
  if (!wholeAt(partitions, 1, most.partitions, `${path}.partitions`, report)) return undefined
  return spec as Partitioning
}

function objectAt(given: unknown, path: string, report: Report): object {
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given
  report(path, given, 'write an object')
  return {}
}

/** Reports the fields that are not known, with the nearest that is. */
export function checkFields(
  spec: object,
  known: readonly string[],
  path: string,
  report: Report,
  misplaced: (name: string) => string | undefined = () => undefined,
): void {
  for (const [name, value] of Object.entries(spec)) {
    if (known.includes(name) || value === undefined) continue
    const remedy = `${didYouMean(name, known)}there is no such field; known are ${known.join(', ')}`
    report(path === '' ? name : `${path}.${name}`, value, misplaced(name) ?? remedy)
  }
}

function wholeAt(value: unknown, least: number, largest: number, path: string, report: Report): value is number {
  const isGood = Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= largest
  if (!isGood) report(path, value, `use a whole number from ${least} to ${largest}`)
  return isGood
}

/** The name of the only partition of a source that is not split. */
export const wholeSource = 'all'

/** `0` to `n - 1`, or `all` without partitioning. */
export function partitionNames({ partitioning }: ResolvedExecution): readonly string[] {
  if (partitioning === undefined) return [wholeSource]
  return Array.from({ length: partitioning.partitions }, (_, i) => String(i))
}

/** Whether a record belongs to a partition, by its value or by its number in the source. */
export function belongs(
  partitioning: Partitioning | undefined,
  partition: string,
): ((value: unknown, number: number) => boolean) | undefined {
  if (partitioning === undefined) return undefined
  const { strategy, key, partitions } = partitioning
  const own = Number(partition)
  if (strategy === 'round_robin') return (_, number) => number % partitions === own
  return (value) => hashOf((value as Record<string, unknown> | null)?.[key!]) % partitions === own
}

/** FNV-1a of the text of a value: the same in every worker and every version. */
function hashOf(value: unknown): number {
  const text = typeof value === 'string' ? value : String(JSON.stringify(value))
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}

/** Refuses a strategy that the source cannot follow. */
export function refuseStrategy(
  { partitioning }: ResolvedExecution,
  strategy: Partitioning['strategy'],
  remedy: string,
): void {
  if (partitioning?.strategy === strategy) throw invalidOption('execution.partitioning.strategy', strategy, remedy)
}
