import { type Headers, parseDecimal } from '../../core/retry-after.ts'

/** One limit that a vendor reports: what is left of it, and how long until there is more. */
export interface Dimension {
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
export function rateLimitFields(headers: Headers): readonly Dimension[] {
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
export function looseResetMs(text: string | undefined, untilMoment: (momentMs: number) => number): number | undefined {
  const value = parseDecimal(text)
  if (value === undefined) return undefined
  if (value > 1e12) return untilMoment(value)
  if (value > 1e9) return untilMoment(value * 1000)
  return Math.ceil(value * 1000)
}
