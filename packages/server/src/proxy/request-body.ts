import { IncomingMessage, type ServerResponse } from 'node:http'
import { pipeline, type Readable, Transform } from 'node:stream'
import { type ProxyProblem, problems } from './proxy-problem.ts'

/** The limits of a body. */
export interface BodyBounds {
  readonly maxBodyBytes: number
  /** How long the caller may pause while the proxy waits for more. */
  readonly bodyIdleMs: number
}

/** Whether there is a body that may have arrived in one piece with its head. */
export function comesWithHead({ headers }: IncomingMessage): boolean {
  const length = headers['content-length']
  return length === undefined ? headers['transfer-encoding'] !== undefined : length !== '0'
}

/**
 * The body of a request as it is forwarded; null when there is none. A body that is already complete is forwarded from
 * memory. For the others: a `Content-Length` was checked before, and the parser enforces it; a chunked body is counted.
 */
export function requestBody(
  request: IncomingMessage,
  response: ServerResponse,
  { maxBodyBytes, bodyIdleMs }: BodyBounds,
  onProblem: (problem: ProxyProblem) => void,
): Readable | Buffer | null {
  const isChunked = request.headers['transfer-encoding'] !== undefined
  if (!isChunked && !(Number(request.headers['content-length'] ?? 0) > 0)) return null
  if (request.complete && request.readableLength <= maxBodyBytes) return request.read() as Buffer | null
  const body = isChunked ? counted(request, maxBodyBytes, () => onProblem(problems.tooLarge)) : request
  watchIdle(request, response, body, bodyIdleMs, () => onProblem(problems.tooSlow))
  return body
}

/** Stops forwarding a body: the call failed, and the vendor must not wait for the rest. */
export function endBody(body: Readable | Buffer | null): void {
  if (body === null || body instanceof Uint8Array) return
  // Destroying the request would destroy its connection, on which the caller must still be answered.
  if (body instanceof IncomingMessage) (body as { socket: unknown }).socket = null
  body.on('error', () => {}).destroy()
}

function counted(request: IncomingMessage, maxBytes: number, onTooLarge: () => void): Readable {
  let bytes = 0
  const counter = new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length
      if (bytes <= maxBytes) {
        done(null, chunk)
        return
      }
      onTooLarge()
      done(new Error(problems.tooLarge.message))
    },
  })
  // The reader of the counter gets the error; the callback is there because a pipeline needs one.
  return pipeline(request, counter, () => {})
}

const drainMs = 1000

/** A body that stops arriving would hold a place of the vendor's limit without use. */
function watchIdle(
  request: IncomingMessage,
  response: ServerResponse,
  body: Readable,
  idleMs: number,
  onIdle: () => void,
): void {
  const { socket } = request
  let seen = socket.bytesRead
  const timer = setTimeout(() => {
    if (request.complete) return
    // Data that arrived and was not read yet is not a delay of the caller.
    const isComing = socket.bytesRead !== seen || request.readableLength > 0 || body.readableLength > 0
    seen = socket.bytesRead
    if (isComing) timer.refresh()
    else onIdle()
  }, idleMs)
  response.once('close', () => {
    clearTimeout(timer)
    if (body !== request) body.destroy()
    // It was answered early. The rest is read for a moment, so that the answer arrives, and then the connection is cut.
    if (!request.complete) setTimeout(() => socket.destroy(), drainMs).unref()
  })
}
