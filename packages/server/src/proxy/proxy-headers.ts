import type { CallIds } from './trace-ids.ts'

/** Fields that are about one connection only (RFC 9110, 7.6.1). */
const hopByHop: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings'],
])

/**
 * Request fields that a vendor must not see, such as who called inside the network, or that the proxy writes itself.
 */
const notPassedOn: ReadonlySet<string> = new Set([
  ...hopByHop,
  ...['host', 'content-length', 'expect', 'forwarded', 'via', 'x-internal-token', 'x-real-ip', 'x-sluice-tenant'],
  ...['x-request-id', 'traceparent'],
])

/** Where the upstream has credentials, these headers of the caller are not passed on beside them. */
const credentialNames: ReadonlySet<string> = new Set(['authorization', 'cookie', 'x-api-key'])

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/** Names that a message's `Connection` lists in addition to the fixed ones; undefined when there are none. */
function connectionNames(fields: readonly string[]): ReadonlySet<string> | undefined {
  let names: Set<string> | undefined
  for (let at = 0; at + 1 < fields.length; at += 2) {
    if (fields[at]!.length !== 10 || fields[at]!.toLowerCase() !== 'connection') continue
    const value = fields[at + 1]!
    // The most common value; that header is removed anyway.
    if (value === 'keep-alive') continue
    names ??= new Set()
    for (const name of value.split(',')) names.add(name.trim().toLowerCase())
  }
  return names
}

/**
 * The headers of a request as the vendor receives them. Hop-by-hop headers are removed before ours are added, so that
 * `Connection` cannot name, and thereby remove, a credential.
 */
export function requestHeaders(
  raw: readonly string[],
  credentials: Readonly<Record<string, string>> | undefined,
  ids: CallIds,
): string[] {
  const listed = connectionNames(raw)
  const headers: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase()
    // Many servers read x_api_key as x-api-key.
    const read = name.includes('_') ? name.replaceAll('_', '-') : name
    if (notPassedOn.has(read) || listed?.has(name) || read.startsWith('x-forwarded-')) continue
    if (credentials !== undefined && (credentialNames.has(read) || Object.hasOwn(credentials, read))) continue
    headers.push(name, raw[at + 1]!)
  }
  headers.push('via', '1.1 sluice', 'x-request-id', ids.requestId, 'traceparent', ids.traceparent)
  for (const name in credentials) headers.push(name, credentials[name]!)
  return headers
}

/** The headers of a response as the caller receives them, from alternating lower-case names and values. */
export function responseHeaders(
  fields: readonly string[],
  requestId: string,
  locate: (location: string) => string,
): string[] {
  const listed = connectionNames(fields)
  const headers: string[] = ['x-request-id', requestId]
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at]!
    if (hopByHop.has(name) || listed?.has(name) || name === 'x-request-id' || !token.test(name)) continue
    headers.push(name, name === 'location' ? locate(fields[at + 1]!) : fields[at + 1]!)
  }
  return headers
}
