import { checkFunction, checkOptionNames } from '../../core/check-options.ts'
import { warnOnce } from '../../core/observe/warn-once.ts'
import { type RequestView, unreadableBody } from '../../policy/request-view.ts'
import { clientAddress } from '../identity/client-address.ts'
import { refusePromise } from '../refuse-promise.ts'
import { type ViewOptions, viewOptionNames } from './adapter-options.ts'

/** Where an adapter finds the parts of a framework's request. */
export interface RequestReader<Source, Request>
  extends Pick<RequestParts<Source>, 'headers' | 'query' | 'params' | 'body' | 'route'> {
  /** The address of the connected peer; undefined where there is none. */
  peer(source: Source): string | undefined
  /** What the user's functions get to see. */
  request(source: Source): Request
}

/** The route of requests whose route is not known. They share a bucket rather than having no limit. */
export const unknownRoute = 'unknown'

/** Whether a body came with the request, by its framing (RFC 9112, section 6). */
export function carriesBody(headers: RequestView['headers']): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/**
 * Makes the function that turns requests of a framework into views.
 *
 * @example const viewOf = requestViews(reader, { identity: { trustedProxies: ['10.0.0.0/8'] } })
 */
export function requestViews<Source, Request>(
  reader: RequestReader<Source, Request>,
  options: ViewOptions<Request> = {},
): (method: string, path: string, source: Source) => RequestView {
  checkOptionNames('requestViews', options, viewOptionNames)
  checkFunction('context', options.context)
  const addressOf = clientAddress(options.identity)
  const warnOfRoute = warnOnce('SLUICE_NO_ROUTE')
  const { context } = options
  const warnOfContext = warnOnce('SLUICE_CONTEXT_FAILED')
  const { headers, query, params, body, route } = reader
  const parts: RequestParts<Source> = {
    ...{ headers, query, params },
    ip: (source, view) => addressOf(reader.peer(source), view),
    body: (source) => {
      const value = body(source)
      return value === undefined && carriesBody(headers(source)) ? unreadableBody : value
    },
    route: (source) => {
      const pattern = route(source)
      if (pattern !== undefined) return pattern
      warnOfRoute(
        `A rule reads the route, which is not known where the limiter stands, so all such requests share the bucket "${unknownRoute}"; ` +
          'put the limiter on the routes themselves, or use path instead.',
      )
      return unknownRoute
    },
    context: context === undefined ? () => undefined : (source) => contextOf(context, reader.request(source)),
  }
  return (method, path, source) => new LazyView(method, path, source, parts)

  /** If it throws, rules that read it put the request into their shared bucket: throwing cannot bypass a rule. */
  function contextOf(tell: NonNullable<typeof context>, request: Request): RequestView['context'] {
    try {
      return refusePromise('context', tell(request))
    } catch (error) {
      warnOfContext(`context failed, so requests that rules by context apply to share one bucket of each: ${error}`)
      throw error
    }
  }
}

/** Where an adapter finds the parts of a request. Each is read only when a rule asks for it. */
interface RequestParts<Source> {
  headers(source: Source): RequestView['headers']
  ip(source: Source, view: RequestView): string | undefined
  query(source: Source): RequestView['query']
  params(source: Source): RequestView['params']
  body(source: Source): unknown
  route(source: Source): string | undefined
  context(source: Source): RequestView['context']
}

/** A request view that costs nothing for the parts no rule looks at. */
class LazyView<Source> implements RequestView {
  readonly method: string
  readonly path: string
  readonly #source: Source
  readonly #parts: RequestParts<Source>

  constructor(method: string, path: string, source: Source, parts: RequestParts<Source>) {
    this.method = method
    this.path = path
    this.#source = source
    this.#parts = parts
  }

  get headers(): RequestView['headers'] {
    return this.#parts.headers(this.#source)
  }
  get ip(): string | undefined {
    return this.#parts.ip(this.#source, this)
  }
  get query(): RequestView['query'] {
    return this.#parts.query(this.#source)
  }
  get params(): RequestView['params'] {
    return this.#parts.params(this.#source)
  }
  get body(): unknown {
    return this.#parts.body(this.#source)
  }
  get route(): string | undefined {
    return this.#parts.route(this.#source)
  }
  get context(): RequestView['context'] {
    return this.#parts.context(this.#source)
  }
}
