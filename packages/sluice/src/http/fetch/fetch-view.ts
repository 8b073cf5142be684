import type { RequestView } from '../../policy/request-view.ts'
import { pathOf, queryOf } from '../request/request-target.ts'
import type { RequestReader } from '../request/request-views.ts'

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
}

/** Reads fetch-style requests; `requestOf` gives what the user's functions get to see. */
export function fetchReader<Source extends FetchSource, Request>(
  requestOf: (source: Source) => Request,
): RequestReader<Source, Request> {
  const copies = new WeakMap<object, Record<string, string>>()
  function headersOf({ incoming, request }: Source): RequestView['headers'] {
    if (incoming) return incoming.headers
    let copy = copies.get(request)
    if (copy === undefined) {
      copy = Object.fromEntries(request.headers)
      copies.set(request, copy)
    }
    return copy
  }
  return {
    peer: ({ remoteAddress }) => remoteAddress,
    headers: headersOf,
    query: ({ incoming, request }) => queryOf(incoming?.url ?? request.url),
    params: () => undefined,
    body: ({ body }) => body,
    route: () => undefined,
    request: requestOf,
  }
}

/** The path of a fetch-style request. */
export function targetOf({ incoming, request }: FetchSource): string {
  return pathOf(incoming?.url ?? request.url)
}
