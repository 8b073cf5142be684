/** The methods of HTTP itself, for suggestions. */
export const knownMethods: readonly string[] = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'QUERY',
]

// What Node's server lets through besides, and what is registered with IANA.
const extensions = new Set(
  (
    'ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY LABEL LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL ' +
    'MKREDIRECTREF MKWORKSPACE MOVE NOTIFY ORDERPATCH PROPFIND PROPPATCH PURGE REBIND REPORT SEARCH SOURCE SUBSCRIBE ' +
    'UNBIND UNCHECKOUT UNLINK UNLOCK UNSUBSCRIBE UPDATE UPDATEREDIRECTREF VERSION-CONTROL'
  ).split(' '),
)

/**
 * The method of descriptors of Envoy's rate limit service, which the daemon serves. The rules that name it are a group:
 * of those that match a descriptor only the first is charged, so that special ones go before general ones.
 */
export const descriptorMethod = 'RLS'

/** Whether servers know a method, which is in upper case. */
export function isServed(method: string): boolean {
  return knownMethods.includes(method) || extensions.has(method) || method === descriptorMethod
}
