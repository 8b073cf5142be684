import { StoreError } from '../../core/errors.ts'
import type { BookedLimit, BookingRules } from './messages.ts'

/** What decides while shared state cannot be reached: nothing, this replica's share, or no limit at all. */
export type OutageMode = 'closed' | 'local' | 'open'

/**
 * No process has a share of a limit while the number of replicas is unknown. State that a newer version keeps in
 * another format is no reason to drop the limit: Redis answers, and other processes use it.
 */
export function outageMode(onStoreFailure: OutageMode, replicas: number | undefined, failure?: Error): OutageMode {
  const isFormat = failure instanceof StoreError && failure.kind === 'format'
  const mode = isFormat && onStoreFailure === 'open' ? 'local' : onStoreFailure
  return mode === 'local' && replicas === undefined ? 'closed' : mode
}

/**
 * The rules that are enforced in this process during the outage; undefined when nothing may be granted. A share is
 * rounded down: the replicas together never have more than the limit, as far as their number was known.
 */
export function outageRules(
  mode: OutageMode,
  rules: BookingRules,
  replicas: number | undefined,
): BookingRules | undefined {
  if (mode === 'closed') return undefined
  const amountOf = ({ amount }: BookedLimit): number =>
    mode === 'local' ? Math.floor(amount / (replicas ?? Infinity)) : Number.MAX_SAFE_INTEGER
  const limits = rules.limits.map((limit) => ({ ...limit, amount: amountOf(limit) }))
  return limits.some(({ amount }) => amount <= 0) ? undefined : { ...rules, limits }
}
