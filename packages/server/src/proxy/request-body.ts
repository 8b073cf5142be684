import type { IncomingMessage } from 'node:http'
import { pipeline, type Readable, Transform } from 'node:stream'
import { type ProxyProblem, problems } from './proxy-problem.ts'

/** What a body is held to. */
export interface BodyBounds {
  readonly maxBodyBytes: number
  /** How long it may stay away while it is waited for. */
  readonly bodyIdleMs: number
}

/**
 * The body of a request as it is passed on; null when there is none. One that is sent in chunks does not say its length
 * beforehand, so its bytes are counted. One that stops coming would hold a place of the vendor's limit for nothing.
 */
export function requestBody(
  request: IncomingMessage,
  { maxBodyBytes, bodyIdleMs }: BodyBounds,
  onProblem: (problem: ProxyProblem) => void,
): Readable | null {
  if (!hasBody(request)) return null
  let bytes = 0
  const fail = (problem: ProxyProblem): Error => {
    onProblem(problem)
    return new Error(problem.detail)
  }
  const counter = new Transform({
    transform(chunk: Buffer, _, done) {
      idle.refresh()
      bytes += chunk.length
      if (bytes > maxBodyBytes) done(fail(problems.tooLarge))
      else done(null, chunk)
    },
  })
  const idle = setTimeout(() => {
    // What has come and was not taken yet is not the caller's delay.
    if (request.complete) return
    if (counter.readableLength > 0) idle.refresh()
    else counter.destroy(fail(problems.tooSlow))
  }, bodyIdleMs)
  // An error reaches whoever reads the counter; the pipeline ends in any case.
  return pipeline(request, counter, () => clearTimeout(idle))
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
