import { estimateTokens, type TokenEstimate } from '../../admission/usage/estimate.ts'
import type { RecentOutputs } from '../../admission/usage/recent-outputs.ts'
import { withTotal } from '../../admission/usage/usage.ts'
import { type UsageReader, usageReader } from '../../admission/usage/usage-reader.ts'
import type { Units } from '../booking/messages.ts'
import type { OutgoingRequest } from '../options.ts'
import type { UpstreamRuntime } from '../upstream-runtime.ts'
import { decodeBody } from './decode-body.ts'
import { answerAfter, hookAnswer } from './hooks.ts'
import type { ResponseHead } from './response-head.ts'
import { actualUnitsOf, raiseUnits } from './units.ts'

/**
 * What a response reports that its call cost. A stream that was cut reported only a part of its usage: `reserved`
 * stays, unless it already cost more.
 */
export function reportedUnits(
  runtime: UpstreamRuntime,
  { status, headers }: ResponseHead,
  reader: UsageReader | undefined,
  reserved: Units | undefined,
): Units | undefined {
  const { settle } = runtime.hooks
  const { limits } = runtime.upstream
  const units = settle
    ? answerAfter(runtime, 'settle', () =>
        actualUnitsOf(
          limits,
          runtime.givenCost(hookAnswer('settle', settle({ status, headers, body: reader?.text() }))),
        ),
      )
    : actualUnitsOf(limits, withTotal(reader?.usage()))
  return reserved && units ? raiseUnits(units, reserved) : units
}

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
