import { invalidOption } from '../../core/errors.ts'
import type { Partitioning, ResolvedExecution } from '../execution.ts'

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
