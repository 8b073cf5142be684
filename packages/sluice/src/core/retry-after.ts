/** Response headers by name in lower case. */
export type Headers = Readonly<Record<string, string>>

/** Only a header that is one plain number counts as one: `Number('')` is 0 and `Number('0x10')` is 16. */
const decimal = /^\d{1,15}(?:\.\d{1,9})?$/

export function parseDecimal(text: string | undefined): number | undefined {
  const trimmed = text?.trim()
  return trimmed !== undefined && decimal.test(trimmed) ? Number(trimmed) : undefined
}

/** An HTTP-date (RFC 9110, 5.6.7) in milliseconds since the epoch. `Date.parse` alone would read `120` as a year. */
export function parseHttpDate(text: string | undefined): number | undefined {
  const trimmed = text?.trim() ?? ''
  if (!/^[A-Z][a-z]{2,8},? .*\d{2}:\d{2}:\d{2}/.test(trimmed)) return undefined
  const ms = Date.parse(trimmed)
  return Number.isNaN(ms) ? undefined : ms
}

/**
 * How long until a moment, by the vendor's own clock where its `Date` header states it: ours may differ. A response
 * from a cache (`Age`) has the date of when it was made, so then our clock is used.
 */
export function untilMs(momentMs: number, headers: Headers, nowMs: number): number {
  const isFresh = (parseDecimal(headers.age) ?? 0) === 0
  const vendorMs = isFresh ? parseHttpDate(headers.date) : undefined
  return Math.max(0, momentMs - (vendorMs ?? nowMs))
}

/**
 * `Retry-After` in all forms that vendors send: seconds, also with a fraction, or a date; and `retry-after-ms`. A
 * repeated header is the longest of its values. Anything else is ignored.
 */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const exact = parseDecimal(headers['retry-after-ms'])
  if (exact !== undefined) return Math.ceil(exact)
  const text = headers['retry-after']
  if (text === undefined) return undefined
  const date = parseHttpDate(text)
  if (date !== undefined) return untilMs(date, headers, nowMs)
  const seconds = text
    .split(',')
    .map(parseDecimal)
    .filter((each) => each !== undefined)
  return seconds.length === 0 ? undefined : Math.ceil(Math.max(...seconds) * 1000)
}
