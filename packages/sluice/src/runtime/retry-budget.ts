import { checkOptionNames, checkWhole } from '../core/check-options.ts'
import { invalidOption } from '../core/errors.ts'

export interface RetryBudgetOptions {
  /**
   * How many retries each call adds to the budget. 0.2 by default: when everything fails, a fifth more calls are made,
   * not twice as many.
   */
  readonly ratio?: number
  /** How many retries are available at the start, and at most, though never less than a call adds. 10 by default. */
  readonly burst?: number
}

/** Bounds retries: of any number of calls, at most `burst` + `ratio` x calls are retried. It needs no clock. */
export class RetryBudget {
  readonly #ratio: number
  readonly #most: number
  #left: number

  constructor({ ratio = 0.2, burst = 10 }: RetryBudgetOptions = {}) {
    this.#ratio = ratio
    // Whole retries are taken, so there must be room for one; it comes only from what calls add.
    this.#most = Math.max(burst, ratio, 1)
    this.#left = burst
  }

  /** One more call was made. */
  deposit(): void {
    this.#left = Math.min(this.#most, this.#left + this.#ratio)
  }

  /** Takes one retry; false when there is none left. */
  withdraw(): boolean {
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}

export function checkBudget(owner: string, options: RetryBudgetOptions): void {
  checkOptionNames(owner, options, ['ratio', 'burst'])
  const { ratio = 0.2, burst = 10 } = options
  if (!(ratio >= 0 && ratio < Infinity))
    throw invalidOption(`${owner}.ratio`, ratio, 'use a number from 0, such as 0.2')
  checkWhole(`${owner}.burst`, burst, 0, 'retries')
}
