import { randomBytes, randomUUID } from 'node:crypto'

/** Fields that are about one connection only (RFC 9110, 7.6.1). */
const hopByHop: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings'],
])

/**
 * Fields of requests that a vendor must not see, or that are made anew: who asked whom inside is nobody's business
 * outside.
 */
const kept: ReadonlySet<string> = new Set([
  ...['host', 'content-length', 'expect', 'forwarded', 'via', 'x-internal-token', 'x-real-ip', 'x-sluice-tenant'],
  ...['x-request-id', 'traceparent'],
])

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** What identifies a call in logs and at the vendor. */
export interface CallIds {
  readonly requestId: string
  readonly traceparent: string
  readonly traceId: string
}

/** Keeps the ids of a request where they are well formed, and makes those that are missing. */
export function callIds(requestId: string | undefined, traceparent: string | undefined): CallIds {
  const id = requestId !== undefined && /^[\w.:+/=-]{1,128}$/.test(requestId) ? requestId : randomUUID()
  const known = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(traceparent ?? '')
  const isValid = known !== null && !/^0+$/.test(known[1]!) && !/^0+$/.test(known[2]!)
  const traceId = isValid ? known[1]! : randomBytes(16).toString('hex')
  const parent = isValid ? traceparent! : `00-${traceId}-${randomBytes(8).toString('hex')}-01`
  return { requestId: id, traceparent: parent, traceId }
}

/** Names that a message's `Connection` lists, beside the fixed ones. */
function connectionNames(pairs: readonly (readonly [string, string])[]): ReadonlySet<string> {
  const named = pairs.filter(([name]) => name === 'connection').flatMap(([, value]) => value.split(','))
  return new Set(named.map((name) => name.trim().toLowerCase()))
}

function pairsOf(raw: readonly string[]): readonly (readonly [name: string, value: string])[] {
  const pairs: (readonly [string, string])[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) pairs.push([raw[i]!.toLowerCase(), raw[i + 1]!])
  return pairs
}

/**
 * The headers of a request as the vendor gets them. Those of one hop are removed before ours are added, so that
 * `Connection` cannot name, and thereby remove, a credential.
 */
export function requestHeaders(
  raw: readonly string[],
  credentials: Readonly<Record<string, string>>,
  ids: CallIds,
): string[] {
  const pairs = pairsOf(raw)
  const listed = connectionNames(pairs)
  const hasCredentials = Object.keys(credentials).length > 0
  const headers: string[] = []
  for (const [name, value] of pairs) {
    // Many servers read x_api_key as x-api-key.
    const read = name.includes('_') ? name.replaceAll('_', '-') : name
    if (hopByHop.has(read) || listed.has(name) || kept.has(read) || read.startsWith('x-forwarded-')) continue
    // What the caller sent in place of the vendor's credential is not passed on beside it.
    if (hasCredentials && (read === 'authorization' || read === 'cookie' || read === 'x-api-key')) continue
    if (Object.hasOwn(credentials, read)) continue
    headers.push(name, value)
  }
  headers.push('via', '1.1 sluice', 'x-request-id', ids.requestId, 'traceparent', ids.traceparent)
  for (const [name, value] of Object.entries(credentials)) headers.push(name, value)
  return headers
}

/** The headers of a response as the caller gets them. `Location` within the upstream leads back through the proxy. */
export function responseHeaders(raw: readonly Buffer[], upstream: string, base: string): string[] {
  const pairs = pairsOf(raw.map((part) => part.toString('latin1')))
  const listed = connectionNames(pairs)
  const headers: string[] = []
  for (const [name, value] of pairs) {
    if (hopByHop.has(name) || listed.has(name) || name === 'x-request-id' || !token.test(name)) continue
    const leadsBack = name === 'location' && (value === base || value.startsWith(`${base}/`))
    headers.push(name, leadsBack ? `/${upstream}${value.slice(base.length) || '/'}` : value)
  }
  return headers
}
