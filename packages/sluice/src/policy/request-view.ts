/**
 * A request as rules see it, whatever framework it came from. Adapters build it; names of headers are in lower case.
 * Everything in it may have been chosen by an attacker.
 */
export interface RequestView {
  readonly method: string
  /** The path without the query, as sent. */
  readonly path: string
  /** The framework's pattern for the route, such as `/users/:id`, where it is known. */
  readonly route?: string | undefined
  /** A CORS preflight, which browsers send unasked: only rules that name its path apply. */
  readonly preflight?: boolean | undefined
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly params?: Readonly<Record<string, unknown>> | undefined
  /** The parsed body; `unreadableBody` when there is one that could not be read. */
  readonly body?: unknown
  /** The client's address in canonical form (see `http/identity`). */
  readonly ip?: string | undefined
  /** What the service itself adds to the request, such as the user that authentication found. */
  readonly context?: Readonly<Record<string, unknown>> | undefined
}

/**
 * The value of a body that is there but could not be read, such as one that is too long: rules that look into it count
 * it all the same.
 */
export const unreadableBody: unique symbol = Symbol('unreadable body')
