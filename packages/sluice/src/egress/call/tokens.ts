import { estimateTokens, type TokenEstimate } from '../../admission/usage/estimate.ts'
import type { RecentOutputs } from '../../admission/usage/recent-outputs.ts'
import { type UsageReader, usageReader } from '../../admission/usage/usage-reader.ts'
import { decodeBody } from '../decode-body.ts'
import type { OutgoingRequest } from '../options.ts'
import type { ResponseHead } from './response-head.ts'

/** The tokens of a request that is JSON. */
export function estimateRequest(request: OutgoingRequest, outputs: RecentOutputs): TokenEstimate | undefined {
  const { body, path } = request
  if (body === undefined) return undefined
  try {
    const parsed: unknown = JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString())
    return estimateTokens(parsed, Buffer.byteLength(body), path, outputs)
  } catch {
    return undefined
  }
}

/** What reads the usage of a response; one that is compressed is read when it is whole. */
export function readerOf({ headers }: ResponseHead): UsageReader {
  const encoding = headers['content-encoding']?.trim()
  const isPlain = encoding === undefined || encoding === '' || encoding === 'identity'
  return usageReader(
    headers['content-type'],
    isPlain ? undefined : (chunks) => decodeBody(chunks as readonly Buffer[], encoding),
  )
}
