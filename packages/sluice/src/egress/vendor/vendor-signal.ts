import { type Headers, retryAfterMs } from '../../core/retry-after.ts'
import type { Classification } from '../options.ts'
import type { VendorPreset } from './presets.ts'

/** What a response reports about the vendor's limits. */
export interface VendorSignal {
  /** The call exceeded a limit and was not served. */
  readonly limited: boolean
  /** How long the vendor asks us to wait; undefined when it does not state it. */
  readonly waitMs: number | undefined
  /** Whether to stop for that long. */
  readonly pauses: boolean
  /** What the vendor states about retries. */
  readonly mayRetry: boolean | undefined
}

/**
 * Reads a response. `Retry-After` takes precedence over every reset; of several limits the one that is used up for
 * longest counts. A response can only make us wait: nothing that a vendor sends raises our rate.
 */
export function vendorSignal(
  preset: VendorPreset,
  status: number,
  headers: Headers,
  nowMs: number,
  classified?: Classification,
  body?: string,
): VendorSignal {
  const stated = retryAfterMs(headers, nowMs)
  const isLimit =
    status === 429 || (status === 503 && stated !== undefined) || preset.isLimited?.(status, headers) === true
  const limited = classified?.limited ?? isLimit
  const usedUp = (preset.dimensions?.(headers, nowMs) ?? []).filter(({ remaining }) => remaining <= 0)
  const resetMs = usedUp.length === 0 ? undefined : Math.max(...usedUp.map((each) => each.resetMs))
  const classifiedMs = classified?.limited ? validWait(classified.retryAfterMs) : undefined
  const waitMs = classifiedMs ?? stated ?? resetMs ?? (limited ? preset.leastMs : undefined)
  const pauses = limited || (resetMs !== undefined && preset.pausesWhenUsedUp === true)
  const mayRetry = (classified?.limited ? classified.retry : undefined) ?? preset.mayRetry?.(headers, body)
  return { limited, waitMs: limited ? waitMs : resetMs, pauses, mayRetry }
}

/** A wait that is not a number of milliseconds is ignored, as in a header. */
function validWait(ms: number | undefined): number | undefined {
  return typeof ms === 'number' && ms >= 0 ? Math.min(ms, Number.MAX_SAFE_INTEGER) : undefined
}

export const noSignal: VendorSignal = Object.freeze({
  ...{ limited: false, waitMs: undefined, pauses: false, mayRetry: undefined },
})

/**
 * Whether any header may be about limits: the names of all that presets read from a successful response contain both
 * words. Names and values alternate.
 */
export function mentionsLimits(fields: readonly string[]): boolean {
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at]!
    if (name.includes('limit') && name.includes('rate')) return true
  }
  return false
}
