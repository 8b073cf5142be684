import type { RequestView } from '../policy/request-view.ts'
import type { GuardOutcome } from './outcome.ts'

/**
 * Decides whether a request is admitted: a limiter's rules, load shedding, anything else. Adapters turn a framework's
 * request into a view, ask one guard, and write its outcome; a guard knows no framework.
 *
 * @example
 * const maintenance: Guard<unknown> = {
 *   decide: async () =>
 *     isOver() ? passed : refusal({ type: 'about:blank', title: 'Maintenance', status: 503 }, [], undefined),
 * }
 */
export interface Guard<Request, Decided = undefined> {
  /**
   * Decides on a request. `gone` gives a signal that is aborted when the client goes away; call it only when the
   * request has to wait. An allowed request whose outcome has a `finish` is in flight until the adapter calls that.
   */
  decide(view: RequestView, request: Request, gone?: () => AbortSignal): Promise<GuardOutcome<Decided>>
  /**
   * Whether it looks into bodies at present, so that adapters parse them first. It may change while the service runs.
   */
  readonly readsBody?: boolean
}
