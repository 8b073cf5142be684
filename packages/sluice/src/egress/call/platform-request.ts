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
