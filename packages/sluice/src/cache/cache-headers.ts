import { createHash } from 'node:crypto'
import { checkOptionNames, optionNames } from '../core/check-options.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import type { CacheResult } from './cache.ts'
import { taggedCodec } from './values/codec.ts'

export interface CacheHeaderOptions {
  /** Whether a shared cache, such as a CDN, may keep the response; `public` by default. */
  readonly visibility?: 'public' | 'private'
  /** For how long a CDN may answer with the old response while it fetches the new one. */
  readonly staleWhileRevalidate?: Duration
  /** For how long a CDN may answer with the old response when it gets an error. */
  readonly staleIfError?: Duration
  /** The longest that browsers and CDNs may keep it, whatever the TTL. Invalidations do not reach them. */
  readonly maxAge?: Duration
  /** The `If-None-Match` header of the request, also as `Headers.get` returns it. */
  readonly ifNoneMatch?: string | null | undefined
}

const names = optionNames<CacheHeaderOptions>({
  visibility: true,
  staleWhileRevalidate: true,
  staleIfError: true,
  maxAge: true,
  ifNoneMatch: true,
})

/** A year: RFC 9111 has no value for "unlimited". */
const longestSeconds = 31_536_000

/**
 * The headers that let clients and CDNs cache an answer as long as it is fresh here (RFC 9111, RFC 5861). A stale
 * answer may be used once and must not be kept. `notModified` means that the client already has this value: answer 304
 * without a body.
 *
 * @example
 * const answer = await cache.lookup(keys.price('XLM'), fetchPrice)
 * const { headers, notModified } = cacheHeaders(answer, { ifNoneMatch: request.headers['if-none-match'] })
 */
export function cacheHeaders(
  answer: CacheResult<unknown>,
  options: CacheHeaderOptions = {},
): { readonly headers: Readonly<Record<string, string>>; readonly notModified: boolean } {
  checkOptionNames('cacheHeaders', options, names)
  const { visibility = 'public', ifNoneMatch } = options
  const seconds = (name: 'staleWhileRevalidate' | 'staleIfError' | 'maxAge'): number | undefined =>
    options[name] === undefined ? undefined : Math.floor(parseDuration(options[name], name) / 1000)
  const ageSeconds = Math.floor(answer.ageMs / 1000)
  const etag = etagOf(answer.value)
  const maxAge = seconds('maxAge')
  const directives: string[] = [visibility]
  if (answer.stale) directives.push('max-age=0', 'must-revalidate')
  else {
    // `max-age` counts from when the value was made, which `Age` states.
    const freshSeconds = Math.min(Math.floor(answer.freshMs / 1000), maxAge ?? longestSeconds, longestSeconds)
    directives.push(`max-age=${ageSeconds + freshSeconds}`)
    if (answer.freshMs === Infinity && maxAge === undefined) directives.push('immutable')
    const revalidate = seconds('staleWhileRevalidate')
    const onError = seconds('staleIfError')
    if (revalidate) directives.push(`stale-while-revalidate=${revalidate}`)
    if (onError) directives.push(`stale-if-error=${onError}`)
  }
  const headers = { 'cache-control': directives.join(', '), age: String(ageSeconds) }
  return { headers: etag === undefined ? headers : { etag, ...headers }, notModified: matches(ifNoneMatch, etag) }
}

const known = new WeakMap<object, string>()

/**
 * A weak tag: equal values have equal tags, whatever their encoding. Cached values are shared and frozen, so it is
 * computed once. None for a value that cannot be cached.
 */
function etagOf(value: unknown): string | undefined {
  const isShared = typeof value === 'object' && value !== null && Object.isFrozen(value)
  const before = isShared ? known.get(value) : undefined
  if (before !== undefined) return before
  const text = textOf(value)
  if (text === undefined) return undefined
  const etag = `W/"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  if (isShared) known.set(value, etag)
  return etag
}

function textOf(value: unknown): string | undefined {
  try {
    return taggedCodec.encode(value)
  } catch {
    return undefined
  }
}

/** RFC 9110, section 13.1.2: a list of tags, compared weakly, or `*`. */
function matches(header: string | null | undefined, etag: string | undefined): boolean {
  if (header == null || etag === undefined) return false
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, '')
  return header.trim() === '*' || header.split(',').some((tag) => opaque(tag) === opaque(etag))
}
