import { checkOptionNames } from '../core/check-options.ts'
import { Emitter } from '../core/observe/emitter.ts'
import { addProcessPart } from '../runtime/process-parts.ts'
import { Breaker } from './breaker.ts'
import { type BreakerEvents, breakerEventNames } from './events.ts'
import { type BreakerOptions, breakerOptionNames, resolveBreakerOptions } from './options.ts'
import { readSaved } from './saved-breaker.ts'

/**
 * Makes a breaker: it stops calling what keeps failing, and tries again after a cooldown. Its state is local to this
 * process.
 *
 * @example
 * const breaker = createBreaker({ failures: 5, cooldown: '1m' })
 * const score = await breaker.run(() => model.score(input), { fallback: () => 0.5 })
 */
export function createBreaker(options: BreakerOptions = {}): Breaker {
  checkOptionNames('createBreaker', options, breakerOptionNames)
  const resolved = resolveBreakerOptions(options)
  const { name } = resolved
  // The registry is weak, and only `onClose` refers to what it holds: the breaker is reported while somebody has it.
  const onClose = addProcessPart({
    ...{ kind: 'breaker', name, stats: () => breaker.stats() },
    actions: { open: () => breaker.isolate(), close: () => breaker.restore() },
  })
  const saved = readSaved(options.saved, 'createBreaker.saved').get(name)
  const events = new Emitter<BreakerEvents>(breakerEventNames)
  const breaker: Breaker = new Breaker(name, { options: resolved, events, saved, onClose })
  return breaker
}
