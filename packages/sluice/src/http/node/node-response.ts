import type { ServerResponse } from 'node:http'
import { clientClosedRequest, type Denial, type Header, type ResponseEnd } from '../../admission/outcome.ts'

/** Sets headers, unless something else (such as a time-out) has answered already. */
export function setHeaders(response: ServerResponse, headers: readonly Header[]): void {
  try {
    for (let i = 0; i < headers.length; i++) response.setHeader(headers[i]![0], headers[i]![1])
  } catch (error) {
    // Express gives each response a shape of its own, which makes every look at it dear: only who fails looks.
    if (!response.headersSent) throw error
  }
}

/** Answers with a denial. */
export function writeDenial(response: ServerResponse, { status, headers, body }: Denial<unknown>): void {
  if (response.headersSent) return
  response.statusCode = status
  setHeaders(response, headers)
  response.end(body)
}

/** Calls `finish` once: when the response has been sent, or when the client is gone. */
export function onResponseEnd(response: ServerResponse, finish: (end: ResponseEnd) => void): void {
  const bytes = countBytes(response)
  const end = () =>
    finish({
      status: response.headersSent ? response.statusCode : clientClosedRequest,
      bytes: bytes(),
      completed: response.writableFinished,
    })
  if (response.closed) end()
  else response.once('close', end)
}

/** A signal that is aborted when the client goes away before it was answered. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  const abort = () => gone.abort()
  if (response.closed) abort()
  else response.once('close', abort)
  return gone.signal
}

type Write = (chunk?: unknown, ...rest: unknown[]) => unknown

/** Node does not tell how long a body was, so what is written is counted on its way. */
function countBytes(response: ServerResponse): () => number {
  let bytes = 0
  const counted = (write: Write): Write =>
    function (this: ServerResponse, chunk, ...rest) {
      if (typeof chunk === 'string') bytes += Buffer.byteLength(chunk, rest[0] as BufferEncoding)
      else if (chunk instanceof Uint8Array) bytes += chunk.byteLength
      return write.call(this, chunk, ...rest)
    }
  response.write = counted(response.write as Write) as ServerResponse['write']
  response.end = counted(response.end as Write) as ServerResponse['end']
  return () => (response.req.method === 'HEAD' ? 0 : bytes)
}
