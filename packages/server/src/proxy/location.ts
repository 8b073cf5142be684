/** Where an upstream is. */
interface UpstreamAddress {
  readonly name: string
  readonly origin: string
  readonly pathPrefix: string
}

/**
 * A `Location` as the caller of the proxy has to read it: one within the upstream, written with or without its host,
 * goes through the proxy. What is relative to the path of the request is that also here, and what lies elsewhere stays.
 */
export function proxiedLocation(location: string, upstream: UpstreamAddress): string {
  if (!/^(\/|https?:)/i.test(location) || !URL.canParse(location, upstream.origin)) return location
  const { origin, pathname, search, hash } = new URL(location, upstream.origin)
  const prefix = upstream.pathPrefix.replace(/\/$/, '')
  const isWithin = origin === upstream.origin && `${pathname}/`.startsWith(`${prefix}/`)
  return isWithin ? `/${upstream.name}${pathname.slice(prefix.length) || '/'}${search}${hash}` : location
}
