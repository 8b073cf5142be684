import { checkOptionNames, checkWhole, durationFrom } from '../../core/check-options.ts'
import type { Clock } from '../../core/clock.ts'
import type { Duration } from '../../core/duration.ts'
import { SluiceError } from '../../core/errors.ts'
import { Gate } from '../../runtime/gate.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import { checkCallable, signalOf, type Wrapper } from './call.ts'

export interface BulkheadOptions {
  /**
   * How many calls may wait, first in first out; those beyond are refused at once. By default the same number as
   * `limit`.
   */
  readonly queue?: number
  /** How long a call may wait before it is refused. Without it, there is no bound. */
  readonly maxWait?: Duration
  readonly clock?: Clock
}

export interface BulkheadStats {
  readonly running: number
  readonly waiting: number
  /** Calls that were refused because the queue was full or they waited too long. */
  readonly rejected: number
}

/**
 * Lets at most `limit` calls run at a time. All functions that are wrapped by one `bulkhead(...)` share its permits. A
 * permit is free again when the function settles: put the timeout outside of the bulkhead, so that calls which keep
 * running after the timeout still count.
 *
 * @example const score = bulkhead(10, { queue: 50 })((input: Input) => model.score(input))
 */
export function bulkhead(limit: number, options: BulkheadOptions = {}): Wrapper & { stats(): BulkheadStats } {
  checkWhole('bulkhead.limit', limit, 1, 'calls')
  checkOptionNames('bulkhead', options, ['queue', 'maxWait', 'clock'])
  const { queue = limit, maxWait, clock = systemClock() } = options
  checkWhole('bulkhead.queue', queue, 0, 'calls')
  const maxWaitMs = maxWait === undefined ? undefined : durationFrom(1, 'bulkhead.maxWait', maxWait)
  let rejected = 0
  const refusal = (why: 'full' | 'late'): SluiceError => {
    rejected += 1
    const reason = why === 'full' ? `${gate.waiting} wait, as many as may` : `this one has waited for ${maxWaitMs} ms`
    return new SluiceError('SLUICE_REFUSED', `${limit} calls are running and ${reason}.`, { transient: true })
  }
  const gate = new Gate({ limit, queue, maxWaitMs, clock, refusal })

  const wrapper: Wrapper = (fn) => {
    checkCallable('bulkhead', fn)
    return async function throughBulkhead(...args) {
      const signal = signalOf(args)
      signal?.throwIfAborted()
      if (!gate.tryEnter()) await gate.turn(signal)
      try {
        signal?.throwIfAborted()
        return await fn.apply(this, args)
      } finally {
        gate.leave()
      }
    }
  }
  return Object.assign(wrapper, { stats: () => ({ running: gate.inside, waiting: gate.waiting, rejected }) })
}
