import { clientClosedRequest, type Denial, type Finish, type Header } from '../../admission/outcome.ts'
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

/**
 * Whether a callback returned a response. Not by its class: `@hono/node-server` puts its own in the place of the global
 * one, and `fetch` goes on returning the other.
 */
export function isResponse(answer: unknown): answer is Response {
  return typeof (answer as Partial<Response> | null | undefined)?.headers?.get === 'function'
}

/** The response for a denial. */
export function denialResponse({ status, headers, body }: Denial<unknown>, method: string): Response {
  return new Response(method === 'HEAD' ? null : body, { status, headers: Object.fromEntries(headers) })
}

/** The response with more headers. Some responses, such as those of `fetch`, cannot be changed and are wrapped. */
export function withHeaders(response: Response, headers: readonly Header[]): Response {
  try {
    for (const [name, value] of headers) response.headers.set(name, value)
    return response
  } catch {
    const copy = new Response(response.body, response)
    for (const [name, value] of headers) copy.headers.set(name, value)
    return copy
  }
}

/** The response with a body that calls `finish` when it has been read to its end, or given up. */
export function withEnd(response: Response, finish: Finish): Response {
  const reader = finish.readUsage?.()
  const { status, body } = response
  let bytes = 0
  const end = (completed: boolean) => finish({ status, bytes, completed, ...(reader && { usage: reader.usage() }) })
  if (body === null) {
    end(true)
    return response
  }
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength
      reader?.read(chunk)
      controller.enqueue(chunk)
    },
  })
  body.pipeTo(counting.writable).then(
    () => end(true),
    () => end(false),
  )
  return new Response(counting.readable, response)
}

/** Calls `finish` when the client goes away, also when there is no response yet. */
export function onGone(signal: AbortSignal, finish: Finish): void {
  const end = () => finish({ status: clientClosedRequest, bytes: 0, completed: false })
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
}
