import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import { estimateTokens, type TokenEstimate } from '../../admission/usage/estimate.ts'
import type { RecentOutputs } from '../../admission/usage/recent-outputs.ts'
import { withTotal } from '../../admission/usage/usage.ts'
import { type UsageReader, usageReader } from '../../admission/usage/usage-reader.ts'
import { SluiceError } from '../../core/errors.ts'
import type { Headers } from '../../core/retry-after.ts'
import { toError } from '../../core/to-error.ts'
import type { Units } from '../booking/messages.ts'
import type { Classification, OutgoingRequest, UpstreamHooks } from '../options.ts'
import type { UpstreamRuntime } from '../upstream-runtime.ts'
import { presetOf } from '../vendor/presets.ts'
import { mentionsLimits, noSignal, type VendorSignal, vendorSignal } from '../vendor/vendor-signal.ts'
import { actualUnitsOf, raiseUnits } from './units.ts'

/** Names in lower case and values, alternating. A repeated header is repeated here. */
export type HeaderFields = readonly string[]

/** Raw headers as text. */
export function headerFields(raw: readonly Buffer[]): HeaderFields {
  const fields: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    // Some dispatchers give several values of a name as a list, and some give text.
    const [name, value] = [raw[at], raw[at + 1]] as [unknown, unknown]
    const key = textOf(name).toLowerCase()
    if (Array.isArray(value)) for (const each of value) fields.push(key, textOf(each))
    else fields.push(key, textOf(value))
  }
  return fields
}

function textOf(part: unknown): string {
  return part instanceof Uint8Array ? (part as Buffer).toString('latin1') : String(part)
}

/** Header fields by name; repeated ones are joined. */
export function namedFields(fields: HeaderFields): Record<string, string> {
  const named: Record<string, string> = {}
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [name, value] = [fields[at]!, fields[at + 1]!]
    named[name] = named[name] === undefined ? value : `${named[name]}, ${value}`
  }
  return named
}

/** The head of a response. Most are passed on without a lookup of headers by name. */
export class ResponseHead {
  readonly status: number
  readonly fields: HeaderFields
  #headers: Headers | undefined

  constructor(status: number, fields: HeaderFields) {
    this.status = status
    this.fields = fields
  }

  get headers(): Headers {
    this.#headers ??= namedFields(this.fields)
    return this.#headers
  }
}

/** Whether the meaning of a response depends on its body. */
export function needsBody({ hooks, upstream }: UpstreamRuntime, head: ResponseHead): boolean {
  if (hooks.classify) return /json|text\/(?!event-stream)|xml/.test(head.headers['content-type'] ?? '')
  return head.status === 429 && presetOf(upstream.vendor).readsBody === true
}

/** Whether a call with a response of this status may be made again. */
export function mayBeRepeated(status: number): boolean {
  return status >= 500 || status === 408 || status === 429
}

/** What a response reports about the vendor's limits. */
export function signalOf(runtime: UpstreamRuntime, head: ResponseHead, body: string | undefined): VendorSignal {
  const { status, fields } = head
  const { classify } = runtime.hooks
  if (status < 300 && classify === undefined && !mentionsLimits(fields)) return noSignal
  const { headers } = head
  const classified: Classification | undefined =
    classify && answerAfter(runtime, 'classify', () => hookAnswer('classify', classify({ status, headers, body })))
  const nowMs = Math.floor(runtime.clock.now() / 1000)
  return vendorSignal(presetOf(runtime.upstream.vendor), status, headers, nowMs, classified, body)
}

/** Pauses the upstream, or a scope of it, for the whole fleet, because a response asked for it. */
export function pauseUpstream(
  runtime: UpstreamRuntime,
  scope: string,
  { waitMs, limited }: VendorSignal,
  status: number,
  writtenMs: number,
): void {
  const sentAgoMs = Math.ceil(runtime.clock.monotonic() - writtenMs)
  const [ms, maxMs] = [waitMs === undefined ? -1 : Math.ceil(waitMs), runtime.upstream.maxPauseMs]
  const asked = runtime.booking.ask({
    op: 'pause',
    scope,
    ms,
    sentAgoMs,
    chance: runtime.random(),
    maxMs,
    refused: limited,
  })
  void asked.then((result) => {
    if (result?.is !== 'paused') return
    runtime.reports.emit('paused', { scope, ms: result.ms, status })
    if (status === 429 && scope === '' && runtime.upstream.arrival === 'auto') void widen(runtime)
  })
}

/** Each call was granted because the log had room for it: a refusal says that calls arrived later than was assumed. */
async function widen({ booking, reports }: UpstreamRuntime): Promise<void> {
  const beforeMs = booking.widenedMs
  await booking.ask({ op: 'refusedWithRoom' })
  const widenedMs = booking.widenedMs
  if (widenedMs > beforeMs) reports.emit('widened', { arrivalMs: widenedMs })
}

type HookName = keyof UpstreamHooks

/**
 * What a hook says. A promise is refused, because a call is booked, and its response passed on, without a wait for
 * hooks; its rejection is caught, so that it does not end the process.
 */
export function hookAnswer<Answer>(name: HookName, answer: Answer): Answer {
  if (typeof (answer as { then?: unknown } | null | undefined)?.then !== 'function') return answer
  Promise.resolve(answer).catch(() => {})
  throw new SluiceError('SLUICE_WRONG_USE', `the hook ${name} returned a promise; hooks of egress answer at once`)
}

/**
 * What a hook says about a response. The response has come, whatever the hook does with it: an error is reported and
 * counts as no answer.
 */
function answerAfter<Answer>(
  runtime: UpstreamRuntime,
  name: HookName,
  ask: () => Answer | undefined,
): Answer | undefined {
  try {
    return ask()
  } catch (error) {
    runtime.reports.emit('hookFailed', { hook: name, error: toError(error) })
    return undefined
  }
}

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

const mostDecoded = 1024 * 1024

/** Decodes a whole body to text, within bounds; undefined when that cannot be done. */
export function decodeBody(chunks: readonly Buffer[], encoding: string | undefined): string | undefined {
  const bytes = Buffer.concat(chunks)
  const options = { maxOutputLength: mostDecoded }
  try {
    switch (encoding?.trim().toLowerCase()) {
      case undefined:
      case '':
      case 'identity':
        return bytes.toString('utf8')
      case 'gzip':
      case 'x-gzip':
        return gunzipSync(bytes, options).toString('utf8')
      case 'deflate':
        return inflateSync(bytes, options).toString('utf8')
      case 'br':
        return brotliDecompressSync(bytes, options).toString('utf8')
      default:
        return undefined
    }
  } catch {
    return undefined
  }
}
