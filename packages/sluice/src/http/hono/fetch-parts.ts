import type { RequestView } from '../../policy/match/request-view.ts'
import type { HttpGuard } from '../guard.ts'
import { LazyView, type RequestParts } from '../lazy-view.ts'
import { pathOf, queryOf } from '../request-target.ts'

/** As much of Node's request as is used where a fetch-style handler runs on Node. */
export interface NodeIncoming {
  readonly url?: string
  readonly headers: RequestView['headers']
  readonly socket?: { readonly remoteAddress?: string | undefined }
}

/** A fetch-style request and what else is known about it. */
export interface FetchSource {
  readonly request: Request
  /** Node's own request, whose headers need not be copied. */
  readonly incoming: NodeIncoming | undefined
  readonly remoteAddress: string | undefined
  readonly body: unknown
  /** What Hono knows of the route. */
  readonly routed?: { param(): Record<string, unknown>; readonly routePath: string } | undefined
}

/** Makes the view of a fetch-style request. */
export function fetchViews({ clientOf }: Pick<HttpGuard<never>, 'clientOf'>): (source: FetchSource) => RequestView {
  const copies = new WeakMap<Request, Record<string, string>>()
  function headersOf({ incoming, request }: FetchSource): RequestView['headers'] {
    if (incoming) return incoming.headers
    let copy = copies.get(request)
    if (copy === undefined) {
      copy = Object.fromEntries(request.headers)
      copies.set(request, copy)
    }
    return copy
  }
  const parts: RequestParts<FetchSource> = {
    headers: headersOf,
    ip: (source, view) => clientOf(source.remoteAddress, view),
    query: ({ incoming, request }) => queryOf(incoming?.url ?? request.url),
    params: ({ routed }) => routed?.param(),
    body: ({ body }) => body,
    route: ({ routed }) => routed?.routePath,
  }
  return (source) =>
    new LazyView(source.request.method, pathOf(source.incoming?.url ?? source.request.url), source, parts)
}

/** The longest body that is parsed for rules to look into. */
const maxBodyBytes = 1024 * 1024

/** Whether a request says that it carries JSON of a length that is worth parsing. */
export function carriesJson(headers: Headers): boolean {
  const type = headers.get('content-type') ?? ''
  const length = Number(headers.get('content-length') ?? Number.NaN)
  return length > 0 && length <= maxBodyBytes && /^application\/(?:[\w.+-]+\+)?json\b/i.test(type)
}
