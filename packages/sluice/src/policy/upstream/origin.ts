import { hasDotSegments } from '../../core/dot-segments.ts'
import type { Report } from '../document/policy-error.ts'

/** What an upstream's address is made of. */
export interface Origin {
  readonly origin: string
  readonly pathPrefix: string
}

/** Reads the address of an upstream: http or https, a host, and a path prefix that has no tricks in it. */
export function parseOrigin(text: string, path: string, report: Report): Origin {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    report(path, text, 'use an address such as https://api.vendor.example')
    return { origin: 'https://refused.invalid', pathPrefix: '/' }
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:') report(path, text, 'use http or https')
  if (url.username !== '' || url.password !== '') report(path, text, 'leave credentials out; add them to the request')
  if (url.search !== '' || url.hash !== '') report(path, text, 'leave the query and the fragment out')
  if (url.pathname !== '/' && /%|\/\/|\\/.test(url.pathname))
    report(path, text, 'use a plain path, without %, // or \\')
  return { origin: url.origin, pathPrefix: url.pathname.replace(/\/+$/, '') || '/' }
}

/**
 * Whether a path lies at or under a prefix, by whole segments: `/v2` covers `/v2` and `/v2/x`, neither `/v20` nor what
 * a server might read as `/v2/../x`.
 */
export function isUnder(pathname: string, prefix: string): boolean {
  if (prefix === '/' || pathname === prefix) return true
  return pathname.startsWith(`${prefix}/`) && !hasDotSegments(pathname.slice(prefix.length))
}
