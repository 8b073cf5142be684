import type { IncomingMessage } from 'node:http'
import type { ProxyParts } from './proxy-parts.ts'
import { type ProxyProblem, problems } from './proxy-problem.ts'
import { type ProxyTarget, targetOf } from './target.ts'

const refusedMethods: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK'])

/** Where a request goes and who asks. */
export interface CheckedRequest extends ProxyTarget {
  readonly caller: string
}

/** Where a request goes, or why it is refused: all that is decided before a grant is requested. */
export function checkRequest(
  { egress, callers, calls, maxBodyBytes }: ProxyParts,
  request: IncomingMessage,
): CheckedRequest | ProxyProblem {
  const { headers, method = '', url = '' } = request
  if (calls.isEnding) return problems.ending
  if (refusedMethods.has(method)) return problems.method
  // Two parsers may disagree about where a request of HTTP/0.9 ends.
  if (request.httpVersionMajor !== 1) return problems.malformed
  const caller = callers.of(request)
  if (typeof caller !== 'string') return caller
  if (headers.via !== undefined && /\bsluice\b/.test(headers.via)) return problems.loop
  // Framing is written anew, so that the vendor would not learn of another coding of the body.
  // HTTP/1.0 knows no chunks, so a proxy in front may have read another end of the body (RFC 9112, 6.1).
  if (request.httpVersionMinor === 0 && headers['transfer-encoding'] !== undefined) return problems.malformed
  if ((headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked') return problems.coding
  if (Number(headers['content-length'] ?? 0) > maxBodyBytes) return problems.tooLarge
  const target = targetOf(
    url,
    egress.upstreams.filter(({ origin }) => origin !== ''),
  )
  if (target === 'malformed') return problems.malformed
  return target === 'unknown-upstream' ? problems.unknown : { ...target, caller }
}

/** A header as one text. */
export function one(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'object' ? value.join(', ') : value
}
