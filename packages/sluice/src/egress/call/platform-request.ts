import type { RequestInfo, RequestInit } from 'undici'

/** A `Request` of the platform: it belongs to the copy of undici inside Node, not to ours. */
export type PlatformRequest = InstanceType<typeof globalThis.Request>

/**
 * Takes the parts out of a `Request` of another copy of undici, because our `fetch` would read it as a URL. Its body is
 * read into memory, so that its length is known and it can be sent again.
 */
export async function splitRequest(
  input: RequestInfo | PlatformRequest,
  isOurs: (input: unknown) => boolean,
): Promise<{ readonly url: RequestInfo; readonly init: RequestInit }> {
  if (!isPlatformRequest(input) || isOurs(input)) return { url: input as RequestInfo, init: {} }
  const { url, method, headers, signal } = input
  const body = input.body === null ? undefined : new Uint8Array(await input.arrayBuffer())
  return { url, init: { method, headers: [...headers], signal, ...(body === undefined ? {} : { body }) } }
}

function isPlatformRequest(input: unknown): input is PlatformRequest {
  return typeof input === 'object' && input !== null && 'url' in input && 'arrayBuffer' in input
}

/**
 * A form of the platform as bytes with its type, because our `fetch` would send it as the text `[object FormData]`. It
 * is read into memory, as the body of a `Request` is.
 */
export async function encodeForm(init: RequestInit, isOurs: (body: unknown) => boolean): Promise<RequestInit> {
  const { body } = init
  if (!isPlatformForm(body) || isOurs(body)) return init
  const encoded = new globalThis.Response(body)
  const headers = new globalThis.Headers(init.headers as [string, string][])
  if (!headers.has('content-type')) headers.set('content-type', encoded.headers.get('content-type')!)
  return { ...init, headers: [...headers], body: new Uint8Array(await encoded.arrayBuffer()) }
}

function isPlatformForm(body: unknown): body is InstanceType<typeof globalThis.FormData> {
  return Object.prototype.toString.call(body) === '[object FormData]'
}
