import { LiveReplicas } from '../../runtime/live-replicas.ts'
import { goneUs } from './constants.ts'

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
