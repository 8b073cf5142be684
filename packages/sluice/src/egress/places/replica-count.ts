import { silentMs } from '../booking/state.ts'

/** A count that was seen is kept at least this long. */
const rememberMs = 10_000

/**
 * How many processes share an upstream, as far as this one knows. A process that has just started does not know: while
 * a fleet starts, each one is alone at first, and a share of one would be the whole limit. So a count is used only
 * after answers over as long as a silent process is still counted. It grows at once and falls late, as a state that
 * came back empty may not have seen all processes yet.
 */
export class ReplicaCount {
  readonly #configured: number | undefined
  #firstMs: number | undefined
  #lastMs = 0
  /** The largest counts of this span of time and of the one before it. */
  #most = 0
  #mostBefore = 0
  #spanMs = 0

  /** `configured` comes from the application; a larger count that was seen replaces it. */
  constructor(configured: number | undefined) {
    this.#configured = configured
  }

  /** Shared state has answered an exchange that was sent at this time, by the monotonic clock. */
  seen(processes: number, atMs: number): void {
    this.#firstMs ??= atMs
    this.#lastMs = atMs
    if (atMs - this.#spanMs >= rememberMs) {
      this.#mostBefore = this.#most
      this.#most = 0
      this.#spanMs = atMs
    }
    this.#most = Math.max(this.#most, processes, 1)
  }

  /** Undefined while it is unknown. */
  get known(): number | undefined {
    const isSettled = this.#firstMs !== undefined && this.#lastMs - this.#firstMs >= silentMs
    if (!isSettled) return this.#configured
    return Math.max(this.#most, this.#mostBefore, this.#configured ?? 1)
  }
}
