import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, type Readable, Transform } from 'node:stream'
import { type ProxyProblem, problems } from './proxy-problem.ts'

/** What a body is held to. */
export interface BodyBounds {
  readonly maxBodyBytes: number
  /** How long it may stay away while it is waited for. */
  readonly bodyIdleMs: number
}

/**
 * The body of a request as it is passed on; null when there is none. One that says its length was checked before, and
 * the parser holds it to that; one that is sent in chunks is counted.
 */
export function requestBody(
  request: IncomingMessage,
  response: ServerResponse,
  { maxBodyBytes, bodyIdleMs }: BodyBounds,
  onProblem: (problem: ProxyProblem) => void,
): Readable | null {
  const isChunked = request.headers['transfer-encoding'] !== undefined
  if (!isChunked && !(Number(request.headers['content-length'] ?? 0) > 0)) return null
  const body = isChunked ? counted(request, maxBodyBytes, () => onProblem(problems.tooLarge)) : request
  watchIdle(request, response, body, bodyIdleMs, () => onProblem(problems.tooSlow))
  return body
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
      done(new Error(problems.tooLarge.detail))
    },
  })
  // An error reaches whoever reads the counter; the callback is there because a pipeline wants one.
  return pipeline(request, counter, () => {})
}

const drainMs = 1000

/** A body that stops coming would hold a place of the vendor's limit for nothing. */
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
    // What has come and was not taken yet is not the caller's delay.
    const isComing = socket.bytesRead !== seen || request.readableLength > 0 || body.readableLength > 0
    seen = socket.bytesRead
    if (isComing) timer.refresh()
    else onIdle()
  }, idleMs)
  response.once('close', () => {
    clearTimeout(timer)
    if (body !== request) body.destroy()
    // It was answered early. What still comes is read for a moment, so that the answer arrives, and then cut off.
    if (!request.complete) setTimeout(() => socket.destroy(), drainMs).unref()
  })
}
