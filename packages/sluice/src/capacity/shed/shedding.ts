import type { Guard } from '../../admission/guard.ts'
import { type GuardOutcome, passed, refusal } from '../../admission/outcome.ts'
import { checkFunction, checkOptionNames } from '../../core/check-options.ts'
import { type Duration, parseDuration } from '../../core/duration.ts'
import { invalidOption } from '../../core/errors.ts'
import type { RequestView } from '../../policy/request-view.ts'
import type { Capacity } from '../capacity.ts'
import { MeasuredCapacity } from '../capacity.ts'
import { type Priority, priorities } from './priority.ts'

export interface SheddingOptions {
  /**
   * How important a request is: `critical` is shed last, `bulk` first. `normal` when left out, or for any other result.
   */
  readonly priority?: (view: RequestView) => Priority | undefined
  /** Requests that are never shed and not counted, such as health checks. */
  readonly skip?: (view: RequestView) => boolean
  /** The value of `Retry-After`, which is in whole seconds. 1 s by default, with jitter of one second. */
  readonly retryAfter?: Duration
}

/**
 * A guard that sheds load: while the process is overloaded it answers 503 to some requests, the less important first,
 * so that those that are let through are still answered in time. It never sheds everything.
 *
 * @example app.use(protect(allOf(shedding(capacity), limiterGuard(limiter))))
 */
export function shedding(capacity: Capacity, options: SheddingOptions = {}): Guard<unknown> {
  checkOptionNames('shedding', options, ['priority', 'skip', 'retryAfter'])
  checkFunction('shedding.priority', options.priority)
  checkFunction('shedding.skip', options.skip)
  const retryAfterSeconds = Math.ceil(parseDuration(options.retryAfter ?? '1s', 'shedding.retryAfter') / 1000)
  if (!(capacity instanceof MeasuredCapacity)) {
    throw invalidOption('shedding.capacity', capacity, 'pass what createCapacity returned')
  }
  const counted: GuardOutcome = {
    ...passed,
    get finish() {
      return endOnce(capacity)
    },
  }
  // Made once: the cost of a refusal takes time from the requests that are let through.
  const [soon, later] = [retryAfterSeconds, retryAfterSeconds + 1].map((seconds) =>
    refusal(overloaded, [['Retry-After', String(seconds)]], undefined),
  ) as [GuardOutcome, GuardOutcome]
  return {
    async decide(view) {
      if (resultOf(options.skip, view)) return passed
      const given = resultOf(options.priority, view)
      const priority = given !== undefined && priorities.includes(given) ? given : 'normal'
      const admitted = capacity.admit(priority)
      if (!admitted || capacity.controller.share < 1) capacity.emit('shed', { priority, admitted })
      if (admitted) {
        capacity.began()
        return { ...counted }
      }
      return priority === 'critical' || Math.random() < 0.5 ? soon : later
    },
  }
}

/** A function of the user that throws must not fail the request. */
function resultOf<T>(of: ((view: RequestView) => T) | undefined, view: RequestView): T | undefined {
  try {
    return of?.(view)
  } catch {
    return undefined
  }
}

const overloaded = {
  type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
  title: 'Temporarily reduced capacity',
  status: 503,
  detail: 'The service is overloaded; the request was not begun.',
}

/**
 * Ends each request once, however often the adapter reports it: a request that is counted as ended twice would hide
 * load permanently.
 */
function endOnce(capacity: MeasuredCapacity): () => void {
  let ended = false
  return () => {
    if (!ended) capacity.ended()
    ended = true
  }
}
