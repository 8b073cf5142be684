import { SluiceError } from '../../core/errors.ts'
import { toError } from '../../core/to-error.ts'
import type { UpstreamHooks } from '../options.ts'
import type { UpstreamRuntime } from '../upstream-runtime.ts'

type HookName = keyof UpstreamHooks

/**
 * What a hook says. A promise is refused, because a call is booked, and its response passed on, without a wait for
 * hooks; its rejection is caught, so that it does not end the process.
 */
export function hookAnswer<Answer>(name: HookName, answer: Answer): Answer {
  if (typeof (answer as { then?: unknown } | null | undefined)?.then !== 'function') return answer
  Promise.resolve(answer).catch(() => {})
  throw new SluiceError('SLUICE_WRONG_USE', `the hook ${name} returned a promise; hooks of egress answer at once`)
}

/**
 * What a hook says about a response. The response has come, whatever the hook does with it: an error is reported and
 * counts as no answer.
 */
export function answerAfter<Answer>(
  runtime: UpstreamRuntime,
  name: HookName,
  ask: () => Answer | undefined,
): Answer | undefined {
  try {
    return ask()
  } catch (error) {
    runtime.reports.emit('hookFailed', { hook: name, error: toError(error) })
    return undefined
  }
}
