import type { Dispatcher } from 'undici'
import type { OutgoingRequest } from '../options.ts'

/** What hooks see of a request. */
export function outgoingRequest(options: Dispatcher.DispatchOptions): OutgoingRequest {
  const { method, origin, path, headers, body } = options
  return {
    method: String(method),
    origin: String(origin),
    path,
    headers: namedHeaders(headers),
    body: typeof body === 'string' || body instanceof Uint8Array ? body : undefined,
  }
}

/** Whether a body is in memory: written together with the head, and able to be sent again. */
export function isInMemory(body: unknown): boolean {
  return body === null || body === undefined || typeof body === 'string' || body instanceof Uint8Array
}

/** The request, or a copy of it, for which undici does not measure the time to the head of the response. */
export function withoutHeadersTimeout(options: Dispatcher.DispatchOptions): Dispatcher.DispatchOptions {
  if (options.headersTimeout === 0) return options
  // V8 takes ten times as long to add a field to a copy than to copy onto an object that has it.
  const copy = { headersTimeout: 0, ...options }
  copy.headersTimeout = 0
  return copy
}

/** Headers in any form that undici takes, by name in lower case; repeated ones are joined. */
export function namedHeaders(headers: unknown): Record<string, string> {
  const named: Record<string, string> = {}
  const add = (name: unknown, value: unknown): void => {
    const key = String(name).toLowerCase()
    const text = Array.isArray(value) ? value.map(String).join(', ') : String(value)
    named[key] = named[key] === undefined ? text : `${named[key]}, ${text}`
  }
  if (Array.isArray(headers)) {
    for (let i = 0; i + 1 < headers.length; i += 2) add(headers[i], headers[i + 1])
  } else if (headers && typeof (headers as Iterable<unknown>)[Symbol.iterator] === 'function') {
    for (const [name, value] of headers as Iterable<[unknown, unknown]>) add(name, value)
  } else if (headers) {
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) add(name, value)
  }
  return named
}

/** Bodies up to this size are read before a call is booked: a caller that stalls then holds nothing of the vendor. */
export const mostAheadBytes: number = 1024 * 1024

/** Whether a body comes in pieces over time. */
export function comesInPieces(body: unknown): body is AsyncIterable<Uint8Array | string> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body && !(body instanceof Blob)
}

/** The whole body, or if that is too large, one that continues after what was read of it. */
export async function readAhead(body: AsyncIterable<Uint8Array | string>): Promise<Buffer | AsyncIterable<Uint8Array>> {
  const iterator = body[Symbol.asyncIterator]()
  const chunks: Buffer[] = []
  let bytes = 0
  while (bytes <= mostAheadBytes) {
    const next = await iterator.next()
    if (next.done) return Buffer.concat(chunks)
    const chunk = Buffer.from(next.value as Uint8Array)
    bytes += chunk.length
    chunks.push(chunk)
  }
  return (async function* continued() {
    try {
      yield* chunks.splice(0)
      yield* { [Symbol.asyncIterator]: () => iterator } as AsyncIterable<Uint8Array>
    } finally {
      await iterator.return?.()
    }
  })()
}
