import type { Denial } from '../../admission/outcome.ts'
import { checkFunction, checkOptionNames, optionNames, pickOptions } from '../../core/check-options.ts'
import type { IdentityOptions } from '../identity/identity.ts'

/** What an adapter makes of a request. */
export interface ViewOptions<Request> {
  /** Who a client is. */
  readonly identity?: IdentityOptions
  /**
   * What rules may read as `context.…`, such as the user that authentication found. It is called when a rule asks for
   * it.
   *
   * @example rateLimit(limiter, { context: (req) => ({ user: req.user }) }) // key: context.user.id
   */
  readonly context?: (request: Request) => Readonly<Record<string, unknown>> | undefined
}

/** What an adapter makes of a request, and of a denial. `Exchange` is what handlers of the framework get. */
export interface AdapterOptions<Request, Exchange, Answer = never, Decided = unknown> extends ViewOptions<Request> {
  /**
   * Answers a denial instead of the usual problem: return a changed denial to have it written, or nothing if the answer
   * was written here, or a promise of that. If nothing was written by then, the usual problem is sent.
   */
  readonly onDenied?: OnDenied<Exchange, Answer, Decided>
}

/** What `onDenied` returns. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that writes the answer itself usually returns nothing.
export type OwnAnswer<Answer, Decided> = Denial<Decided> | Answer | undefined | void

/** Whether `onDenied` returned a denial. It may also return what its last call gave it, such as the response. */
export function isDenial<Decided>(answer: unknown): answer is Denial<Decided> {
  return Array.isArray((answer as Partial<Denial> | null | undefined)?.headers)
}

/** Answers a denial in one's own way. */
export type OnDenied<Exchange, Answer, Decided> = (
  denial: Denial<Decided>,
  exchange: Exchange,
) => OwnAnswer<Answer, Decided> | Promise<OwnAnswer<Answer, Decided>>

export const viewOptionNames: readonly string[] = optionNames<ViewOptions<never>>({ identity: true, context: true })

/** The names of an adapter's options; `own` are those that only this adapter has. */
export function adapterOptionNames(own: readonly string[] = []): readonly string[] {
  return [...own, ...viewOptionNames, 'onDenied']
}

/** Refuses options that `protect` of an adapter does not have, and gives those that make views of its requests. */
export function viewOptions<Request, Exchange, Answer, Decided>(
  options: AdapterOptions<Request, Exchange, Answer, Decided>,
  known: readonly string[],
): ViewOptions<Request> {
  checkOptionNames('protect', options, known)
  checkFunction('onDenied', options.onDenied)
  return pickOptions(options, viewOptionNames)
}
