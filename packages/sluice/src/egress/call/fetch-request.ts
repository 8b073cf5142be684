import type { RequestInfo, RequestInit } from 'undici'
import type { Undici } from '../connection/load-undici.ts'
import type { PlatformRequest } from '../egress.ts'
import { comesInPieces, readAhead } from './outgoing-request.ts'

/** What `fetch` was asked for, as far as it is needed before a grant. */
export interface FetchRequest {
  readonly url: URL
  readonly init: RequestInit
  /** The body where it is in memory. */
  readonly bytes: string | Uint8Array | undefined
}

/**
 * Takes a `Request` of any copy of undici into its parts, as our `fetch` would read that of another copy as a URL. What
 * is no text or bytes, such as a form, is read into memory, so that its length is known and it can be sent again; of a
 * stream only the beginning, if it is too long.
 */
export async function fetchRequest(
  input: RequestInfo | PlatformRequest,
  given: RequestInit,
  undici: Undici,
): Promise<FetchRequest> {
  const { url, ...own } = isRequest(input) ? partsOf(input) : { url: String(input) }
  const init = { ...own, ...given } as RequestInit
  const known = inMemory(init.body)
  if (init.body == null || known !== undefined) return { url: new URL(url), init, bytes: known }
  const read = await readParts(init, undici)
  return { url: new URL(url), init: read, bytes: inMemory(read.body) }
}

function isRequest(input: unknown): input is PlatformRequest {
  return typeof input === 'object' && input !== null && 'url' in input && 'arrayBuffer' in input
}

function partsOf({ url, method, headers, signal, body }: PlatformRequest): RequestInit & { readonly url: string } {
  const parts = { url, method, headers: [...headers] as [string, string][], signal }
  return body === null ? parts : { ...parts, body: body as unknown as NonNullable<RequestInit['body']> }
}

/** A body that can be sent again, where `fetch` would make a stream of it. */
function inMemory(body: RequestInit['body']): string | Uint8Array | undefined {
  if (typeof body === 'string' || body instanceof Uint8Array) return body
  if (body instanceof URLSearchParams) return body.toString()
  if (body instanceof ArrayBuffer) return new Uint8Array(body)
  return undefined
}

async function readParts(init: RequestInit, undici: Undici): Promise<RequestInit> {
  const { body } = init
  if (comesInPieces(body)) return { ...init, body: (await readAhead(body)) as never, duplex: 'half' }
  if (!isForm(body) && !(body instanceof Blob)) return init
  // A copy of undici knows only its own forms, and would send others as the text `[object FormData]`.
  const encoded = new (body instanceof undici.FormData ? undici.Response : globalThis.Response)(body as never)
  const headers = new globalThis.Headers(init.headers as [string, string][])
  const type = encoded.headers.get('content-type')
  if (type !== null && !headers.has('content-type')) headers.set('content-type', type)
  return { ...init, headers: [...headers], body: new Uint8Array(await encoded.arrayBuffer()) }
}

function isForm(body: unknown): boolean {
  return Object.prototype.toString.call(body) === '[object FormData]'
}
