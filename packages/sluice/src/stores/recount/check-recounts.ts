import { checkOptionNames, checkWhole } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import type { Recounts } from './recount.ts'

/** Checks the `recount` option; throws at the first mistake. */
export function checkRecounts(recounts: Recounts | undefined): void {
  for (const [rule, recount] of Object.entries(recounts ?? {})) {
    const option = `createLimiter.recount.${rule}`
    if (typeof recount === 'function') continue
    if (typeof recount?.take !== 'function')
      throw invalidOption(option, recount, 'pass a function that counts, or { take } that decides')
    checkOptionNames(option, recount, ['take', 'count', 'concurrency'])
    if (recount.count !== undefined && typeof recount.count !== 'function')
      throw invalidOption(`${option}.count`, recount.count, 'pass a function that counts')
    if (recount.concurrency !== undefined) checkWhole(`${option}.concurrency`, recount.concurrency, 1, 'calls')
  }
}
