import { backoffMs } from '../../core/backoff.ts'
import { checkFunction, checkOptionNames, checkWhole, durationFrom } from '../../core/check-options.ts'
import type { Clock } from '../../core/clock.ts'
import type { Duration } from '../../core/duration.ts'
import { isSluiceError } from '../../core/errors.ts'
import { checkBudget, RetryBudget, type RetryBudgetOptions } from '../../runtime/retry-budget.ts'
import { sleep } from '../../runtime/sleep.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import { isRefusal } from '../verdict.ts'
import { checkCallable, signalOf, type Wrapper } from './call.ts'

export interface RetryOptions {
  /** How often the function is called at most, the first time included. 3 by default. */
  readonly attempts?: number
  /**
   * The longest wait before the first retry; it doubles with each. Waits are a random part of it, from none to all. 100
   * ms by default.
   */
  readonly base?: Duration
  /** The longest wait of all. 10 s by default. */
  readonly max?: Duration
  /** Bounds the retries of all calls together; false for no bound. */
  readonly budget?: RetryBudgetOptions | false
  /**
   * Whether another attempt can help. By default not after refusals of breakers and bulkheads and errors that are not
   * transient.
   */
  readonly isRetryable?: (error: unknown) => boolean
  readonly clock?: Clock
  /** A number from 0 to 1, for the jitter. */
  readonly random?: () => number
}

export interface RetryStats {
  readonly calls: number
  readonly retries: number
  /** Retries that were not made because the budget was used up. */
  readonly overBudget: number
}

const names = ['attempts', 'base', 'max', 'budget', 'isRetryable', 'clock', 'random']

/**
 * Calls again what fails, after waits with full jitter. All functions that are wrapped by one `withRetry(...)` share
 * its budget. Only for calls that may be made twice.
 *
 * @example const score = withRetry({ attempts: 2 })((input: Input) => model.score(input))
 */
export function withRetry(options: RetryOptions = {}): Wrapper & { stats(): RetryStats } {
  checkOptionNames('withRetry', options, names)
  const { attempts = 3, base = 100, max = '10s', budget: budgetOptions = {} } = options
  const { isRetryable = isTransient, clock = systemClock(), random = Math.random } = options
  checkWhole('withRetry.attempts', attempts, 1, 'attempts')
  const baseMs = durationFrom(0, 'withRetry.base', base)
  const maxMs = durationFrom(0, 'withRetry.max', max)
  checkFunction('withRetry.isRetryable', isRetryable)
  checkFunction('withRetry.random', random)
  if (budgetOptions !== false) checkBudget('withRetry.budget', budgetOptions)
  const budget = budgetOptions === false ? undefined : new RetryBudget(budgetOptions)
  const stats = { calls: 0, retries: 0, overBudget: 0 }

  const mayRetry = (error: unknown, attempt: number, signal: AbortSignal | undefined): boolean => {
    if (attempt >= attempts || signal?.aborted) return false
    try {
      if (!isRetryable(error)) return false
    } catch {
      // `isRetryable` could not read the error; the caller should see that error, not this one.
      return false
    }
    const isWithinBudget = budget?.withdraw() ?? true
    stats[isWithinBudget ? 'retries' : 'overBudget'] += 1
    return isWithinBudget
  }

  const wrapper: Wrapper = (fn) => {
    checkCallable('withRetry', fn)
    return async function throughRetry(...args) {
      const signal = signalOf(args)
      stats.calls += 1
      budget?.deposit()
      for (let attempt = 1; ; attempt++) {
        signal?.throwIfAborted()
        try {
          return await fn.apply(this, args)
        } catch (error) {
          if (!mayRetry(error, attempt, signal)) throw error
        }
        await sleep(backoffMs(attempt - 1, random, { baseMs, maxMs, jitter: 1 }), clock, signal)
      }
    }
  }
  return Object.assign(wrapper, { stats: () => ({ ...stats }) })
}

function isTransient(error: unknown): boolean {
  return !isRefusal(error) && (!isSluiceError(error) || error.transient)
}
