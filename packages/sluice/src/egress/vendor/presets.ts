import { parseDuration } from '../../core/duration.ts'
import { type Headers, parseDecimal, untilMs } from '../../core/retry-after.ts'

/** How one vendor reports its limits. What is left out works as with most vendors. */
export interface VendorPreset {
  /** Statuses besides 429, and 503 with `Retry-After`, that mean that a limit was exceeded. */
  isLimited?(status: number, headers: Headers): boolean
  /** The limits that a response reports. */
  dimensions?(headers: Headers, nowMs: number): readonly Dimension[]
  /**
   * Whether a limit with nothing left stops us although the call itself succeeded; only where its reset states when
   * more is available.
   */
  readonly pausesWhenUsedUp?: boolean
  /** How long to wait at least when a limit was exceeded and the vendor does not state a time. */
  readonly leastMs?: number
  /** Whether the vendor states that a retry is useless; undefined when it does not state anything. */
  mayRetry?(headers: Headers, body: string | undefined): boolean | undefined
  /** Whether the body of a refusal is needed to decide. */
  readonly readsBody?: boolean
}

type Dimensions = NonNullable<VendorPreset['dimensions']>
type ReadReset = (text: string | undefined, headers: Headers, nowMs: number) => number | undefined

const looseReset: ReadReset = (text, headers, nowMs) => looseResetMs(text, (moment) => untilMs(moment, headers, nowMs))
const goReset: ReadReset = (text) => parseGoDuration(text) ?? secondsOf(text)
const timestampReset: ReadReset = (text, headers, nowMs) => {
  const moment = parseTimestamp(text)
  return moment === undefined ? looseReset(text, headers, nowMs) : untilMs(moment, headers, nowMs)
}
// Azure sends whole seconds where OpenAI sends durations.
const secondsOf = (text: string | undefined): number | undefined => {
  const seconds = parseDecimal(text)
  return seconds === undefined ? undefined : Math.ceil(seconds * 1000)
}

/**
 * Limits whose headers have the same form: `%` is replaced by the name of the limit. Negative placeholders are not
 * numbers here and so are ignored.
 */
function named(remaining: string, reset: string, limits: readonly string[], read: ReadReset): Dimensions {
  return (headers, nowMs) =>
    limits.flatMap((limit): Dimension[] => {
      const left = parseDecimal(headers[remaining.replace('%', limit)])
      const resetMs = read(headers[reset.replace('%', limit)], headers, nowMs)
      return left === undefined || resetMs === undefined ? [] : [{ remaining: left, resetMs }]
    })
}

const xRateLimit = named('x-ratelimit-remaining', 'x-ratelimit-reset', [''], looseReset)
const xRateLimitOfX = named('x-rate-limit-remaining', 'x-rate-limit-reset', [''], looseReset)

const common: VendorPreset = {
  dimensions: (headers, nowMs) => [
    ...rateLimitFields(headers),
    ...xRateLimit(headers, nowMs),
    ...xRateLimitOfX(headers, nowMs),
  ],
  pausesWhenUsedUp: true,
}

const codeOf = (body: string | undefined): unknown => {
  try {
    const { error } = JSON.parse(body ?? '') as { error?: { code?: unknown; type?: unknown } }
    return error?.code ?? error?.type
  } catch {
    return undefined
  }
}

/**
 * Vendors whose headers differ from most. Resets of OpenAI and Anthropic state when a limit is full again, not when one
 * more call fits.
 */
const presets: Readonly<Record<string, VendorPreset>> = {
  common,
  openai: {
    dimensions: named('x-ratelimit-remaining-%', 'x-ratelimit-reset-%', ['requests', 'tokens'], goReset),
    readsBody: true,
    mayRetry: (headers, body) => {
      if (headers['x-should-retry'] === 'true') return true
      if (headers['x-should-retry'] === 'false' || codeOf(body) === 'insufficient_quota') return false
      return undefined
    },
  },
  anthropic: {
    isLimited: (status) => status === 529,
    dimensions: named(
      'anthropic-ratelimit-%-remaining',
      'anthropic-ratelimit-%-reset',
      ['requests', 'tokens', 'input-tokens', 'output-tokens'],
      timestampReset,
    ),
    mayRetry: (headers) => (headers['x-should-retry'] === undefined ? undefined : headers['x-should-retry'] === 'true'),
  },
  github: {
    // A 403 is a limit only if nothing is left, or if it states when to come back; otherwise it is a refusal of another
    // kind.
    isLimited: (status, headers) =>
      status === 403 && (headers['x-ratelimit-remaining'] === '0' || headers['retry-after'] !== undefined),
    dimensions: named('x-ratelimit-remaining', 'x-ratelimit-reset', [''], (text, headers, nowMs) => {
      const reset = looseReset(text, headers, nowMs)
      return reset === undefined ? undefined : reset + 1000
    }),
    pausesWhenUsedUp: true,
    // Its secondary limits do not state when they end.
    leastMs: 60_000,
  },
  discord: {
    dimensions: (headers, nowMs) =>
      named('x-ratelimit-remaining', 'x-ratelimit-reset-after', [''], (text) => secondsOf(text))(headers, nowMs),
    pausesWhenUsedUp: true,
  },
  slack: {},
  stripe: {
    mayRetry: (headers) =>
      headers['stripe-should-retry'] === undefined ? undefined : headers['stripe-should-retry'] === 'true',
  },
}

/** The preset of a vendor; most vendors share one. */
export function presetOf(vendor: string | undefined): VendorPreset {
  return presets[vendor ?? 'common'] ?? common
}

/** An RFC 3339 time in milliseconds since the epoch. */
export function parseTimestamp(text: string | undefined): number | undefined {
  const trimmed = text?.trim() ?? ''
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}/.test(trimmed)) return undefined
  const ms = Date.parse(trimmed)
  return Number.isNaN(ms) ? undefined : ms
}

/** A duration as Go prints it: `12ms`, `1s`, `6m0s`, `1h2m3.5s`. */
export function parseGoDuration(text: string | undefined): number | undefined {
  try {
    return text === undefined ? undefined : Math.ceil(parseLoosely(text.trim()))
  } catch {
    return undefined
  }
}

function parseLoosely(text: string): number {
  let ms = 0
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)) {
    ms += Number(amount) * parseDuration(`1${unit}`, 'duration')
  }
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(text)) throw new RangeError(text)
  return ms
}

/** One limit that a vendor reports: what is left of it, and how long until there is more. */
interface Dimension {
  readonly remaining: number
  readonly resetMs: number
}

/**
 * The `RateLimit` fields of the IETF in their three generations:
 *
 *     draft 8 and later   RateLimit: "burst";r=50;t=30, "daily";r=1;t=3600
 *     draft 7             RateLimit: limit=100, remaining=50, reset=5
 *     draft 6 and before  RateLimit-Remaining: 50   RateLimit-Reset: 5
 */
function rateLimitFields(headers: Headers): readonly Dimension[] {
  const field = headers.ratelimit
  if (field !== undefined) {
    const pairs = Object.fromEntries(
      [...field.matchAll(/(?:^|,)\s*(limit|remaining|reset)\s*=\s*(\d+)/g)].map(([, k, v]) => [k, v]),
    )
    if (pairs.remaining !== undefined) return [dimension(pairs.remaining, pairs.reset)].flatMap(known)
    return splitItems(field).flatMap((item) => {
      const parameters = Object.fromEntries([...item.matchAll(/;\s*([a-z]+)=(\d+)/g)].map(([, k, v]) => [k, v]))
      return known(dimension(parameters.r, parameters.t))
    })
  }
  return known(dimension(headers['ratelimit-remaining'], headers['ratelimit-reset']))
}

/** Commas inside quotes do not divide. */
function splitItems(field: string): readonly string[] {
  return field.match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g) ?? []
}

function dimension(remaining: string | undefined, resetSeconds: string | undefined): Dimension | undefined {
  const left = parseDecimal(remaining)
  const seconds = parseDecimal(resetSeconds)
  return left === undefined || seconds === undefined
    ? undefined
    : { remaining: left, resetMs: Math.ceil(seconds * 1000) }
}

const known = (found: Dimension | undefined): Dimension[] => (found === undefined ? [] : [found])

/**
 * `X-RateLimit-Reset` has no definition: a large number is a moment (ms or s since 1970), a small one is seconds from
 * now. GitHub, X and Discord send moments, many others send seconds.
 */
function looseResetMs(text: string | undefined, untilMoment: (momentMs: number) => number): number | undefined {
  const value = parseDecimal(text)
  if (value === undefined) return undefined
  if (value > 1e12) return untilMoment(value)
  if (value > 1e9) return untilMoment(value * 1000)
  return Math.ceil(value * 1000)
}
