import { backoffMs } from '../core/backoff.ts'
import type { Clock } from '../core/clock.ts'
import { isSluiceError } from '../core/errors.ts'
import type { Emitter } from '../core/observe/emitter.ts'
import { sleep } from '../runtime/sleep.ts'
import { untilAborted } from '../runtime/until-aborted.ts'
import type { Counts } from './counts.ts'
import type { PipelineEvents } from './pipeline.ts'

export interface RetryParts {
  readonly counts: Counts
  readonly events: Emitter<PipelineEvents>
  readonly clock: Clock
  readonly random: () => number
}

type Operation = PipelineEvents['failed']['operation']
const longestWaitMs = 300_000

/** Does what one partition needs until it works. */
export class Retry {
  readonly #parts: RetryParts
  readonly #partition: string
  readonly #signal: AbortSignal
  /** What last failed, until something works again. */
  error: string | undefined

  constructor(parts: RetryParts, partition: string, signal: AbortSignal) {
    this.#parts = parts
    this.#partition = partition
    this.#signal = signal
  }

  /** Until it works, or the signal aborts. Rejects with what no trying again mends. */
  async until<T>(operation: Operation, work: (attempt: number) => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        // Who must stop at once does not wait for a sink that hangs.
        const result = await untilAborted(work(attempt), this.#signal)
        this.error = undefined
        return result
      } catch (error) {
        this.#signal.throwIfAborted()
        await this.failed(operation, error, attempt)
      }
    }
  }

  /** Waits before the next try, as long as the error asks for or longer. */
  async failed(operation: Operation, error: unknown, attempt: number): Promise<void> {
    if (isSluiceError(error) && !error.transient) throw error
    const { counts, events, clock, random } = this.#parts
    const asked = Number((error as { retryAfterMs?: unknown } | undefined)?.retryAfterMs) || 0
    const backoff = backoffMs(attempt, random, { baseMs: 100, maxMs: 30_000 })
    const retryInMs = Math.min(Math.max(backoff, asked), longestWaitMs)
    counts.failures += 1
    this.error = `${operation}: ${error instanceof Error ? error.message : String(error)}`
    events.emit('failed', { partition: this.#partition, operation, error, attempt, retryInMs })
    await sleep(retryInMs, clock, this.#signal)
  }
}
