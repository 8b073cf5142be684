import { checkOptionNames } from '../core/check-options.ts'
import { Emitter } from '../core/observe/emitter.ts'
import { Breaker } from './breaker.ts'
import { breakerEventNames } from './events.ts'
import { type BreakerOptions, breakerOptionNames, resolveBreakerOptions } from './options.ts'

/**
 * Makes a breaker: it stops calling what keeps failing, and tries again after a cooldown. Its state is local to this
 * process.
 *
 * @example
 * const breaker = createBreaker({ failures: 5, cooldownMs: 60_000 })
 * const score = await breaker.run(() => model.score(input), { fallback: () => 0.5 })
 */
export function createBreaker(options: BreakerOptions = {}): Breaker {
  checkOptionNames('createBreaker', options, breakerOptionNames)
  const resolved = resolveBreakerOptions(options)
  return new Breaker(resolved.name, { options: resolved, events: new Emitter(breakerEventNames) })
}
