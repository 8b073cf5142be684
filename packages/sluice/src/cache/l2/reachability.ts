import type { CacheMonitor } from '../monitor.ts'

/** After so many failures in a row, Redis counts as down. */
const failuresBeforeDown = 3

/** Whether Redis answers. While it is down nothing is sent but probes. */
export class Reachability {
  readonly #monitor: CacheMonitor
  #failures = 0
  #isDown = false
  /** When Redis last answered, by the cache's clock. */
  lastAnswerMs = 0
  /** Called when Redis goes down. */
  onDown: () => void = () => undefined

  constructor(monitor: CacheMonitor) {
    this.#monitor = monitor
  }

  get isDown(): boolean {
    return this.#isDown
  }

  /** Redis answered a call. */
  answered(nowMs: number): void {
    this.#failures = 0
    this.lastAnswerMs = nowMs
  }

  /** Redis answered a probe: calls are sent again. */
  recovered(nowMs: number): void {
    this.answered(nowMs)
    if (!this.#isDown) return
    this.#isDown = false
    this.#monitor.events.emit('redis', { state: 'up' })
  }

  failed(error: unknown): void {
    this.#failures += 1
    if (this.#failures >= failuresBeforeDown) this.lost(error)
  }

  /** Redis counts as down at once. */
  lost(error?: unknown): void {
    if (this.#isDown) return
    this.#failures = failuresBeforeDown
    this.#isDown = true
    this.#monitor.events.emit('redis', { state: 'down', error })
    this.onDown()
  }
}
