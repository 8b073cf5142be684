import type { RequestView } from '../policy/match/request-view.ts'
import type { AdapterOptions } from './adapter-options.ts'
import { identity } from './identity/identity.ts'
import { LazyView, type RequestParts } from './lazy-view.ts'

/** Where an adapter finds the parts of a framework's request. */
export interface RequestReader<Source, Request>
  extends Pick<RequestParts<Source>, 'headers' | 'query' | 'params' | 'body' | 'route'> {
  /** The address of the connected peer; undefined where there is none. */
  peer(source: Source): string | undefined
  /** What the user's functions get to see. */
  request(source: Source): Request
}

const noHeaders: RequestView['headers'] = Object.freeze({})

/**
 * Makes the function that turns requests of a framework into views.
 *
 * @example const viewOf = requestViews(reader, options)
 */
export function requestViews<Source, Request>(
  reader: RequestReader<Source, Request>,
  options: Pick<AdapterOptions<Request, never>, 'identity' | 'context'>,
): (method: string, path: string, source: Source) => RequestView {
  const identify = identity(options.identity)
  const trustsProxies = (options.identity?.trustedProxies?.length ?? 0) > 0
  const { context } = options
  const { headers, query, params, body, route } = reader
  const parts: RequestParts<Source> = {
    ...{ headers, query, params, body, route },
    // Frameworks parse headers when they are first read, so they are left alone unless proxies are trusted.
    ip: (source, view) => identify(reader.peer(source), trustsProxies ? view.headers : noHeaders),
    context: context === undefined ? () => undefined : (source) => context(reader.request(source)),
  }
  return (method, path, source) => new LazyView(method, path, source, parts)
}
