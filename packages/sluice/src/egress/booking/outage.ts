import { StoreError } from '../../core/errors.ts'
import { LiveReplicas } from '../../runtime/live-replicas.ts'
import { goneUs } from './constants.ts'
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

/** A count that was seen is kept at least this long. */
const rememberMs = 10_000

/**
 * How many processes share an upstream, as far as this one knows. A process that has just started does not know: while
 * a fleet starts, each one is alone at first, and a share of one would be the whole limit. So a count is used only
 * after answers over as long as a silent process is still counted.
 */
export class ReplicaCount {
  readonly #configured: number | undefined
  readonly #counted = new LiveReplicas(rememberMs)
  #firstMs: number | undefined
  #lastMs = 0

  /** `configured` comes from the application; a larger count that was seen replaces it. */
  constructor(configured: number | undefined) {
    this.#configured = configured
  }

  /** Shared state has answered an exchange that was sent at this time, by the monotonic clock. */
  seen(processes: number, atMs: number): void {
    this.#firstMs ??= atMs
    this.#lastMs = atMs
    this.#counted.seen(processes, atMs)
  }

  /** Undefined while it is unknown. */
  get known(): number | undefined {
    const isSettled = this.#firstMs !== undefined && this.#lastMs - this.#firstMs >= goneUs / 1000
    if (!isSettled) return this.#configured
    return Math.max(this.#counted.count, this.#configured ?? 1)
  }
}
