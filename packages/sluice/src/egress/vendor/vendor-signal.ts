import type { Classification } from '../options.ts'
import type { VendorPreset } from './preset.ts'
import { type Headers, retryAfterMs } from './wait-forms.ts'

/** What a response says about the vendor's limits. */
export interface VendorSignal {
  /** The call met a limit and was not served. */
  readonly limited: boolean
  /** How long the vendor asks to wait; undefined when it does not say. */
  readonly waitMs: number | undefined
  /** Whether to stop for that long. */
  readonly pauses: boolean
  /** What the vendor says about trying again. */
  readonly mayRetry: boolean | undefined
}

/**
 * Reads a response. `Retry-After` beats every reset; of several limits the one that is used up for longest counts. A
 * response can only make us wait: nothing that a vendor sends raises our rate.
 */
export function vendorSignal(
  preset: VendorPreset,
  status: number,
  headers: Headers,
  nowMs: number,
  told?: Classification,
  body?: string,
): VendorSignal {
  if (status < 300 && told === undefined && !mentionsLimits(headers)) return nothingSaid
  const stated = retryAfterMs(headers, nowMs)
  const isLimit =
    status === 429 || (status === 503 && stated !== undefined) || preset.isLimited?.(status, headers) === true
  const limited = told?.limited ?? isLimit
  const usedUp = (preset.dimensions?.(headers, nowMs) ?? []).filter(({ remaining }) => remaining <= 0)
  const resetMs = usedUp.length === 0 ? undefined : Math.max(...usedUp.map((each) => each.resetMs))
  const toldMs = told?.limited ? told.retryAfterMs : undefined
  const waitMs = toldMs ?? stated ?? resetMs ?? (limited ? preset.leastMs : undefined)
  const pauses = limited || (resetMs !== undefined && preset.pausesWhenUsedUp === true)
  const mayRetry = (told?.limited ? told.retry : undefined) ?? preset.mayRetry?.(headers, body)
  return { limited, waitMs: limited ? waitMs : resetMs, pauses, mayRetry }
}

const nothingSaid: VendorSignal = Object.freeze({
  ...{ limited: false, waitMs: undefined, pauses: false, mayRetry: undefined },
})

/** Whether any header may be about limits: all that presets read for a response that succeeded have both words. */
function mentionsLimits(headers: Headers): boolean {
  for (const name in headers) if (name.includes('limit') && name.includes('rate')) return true
  return false
}
