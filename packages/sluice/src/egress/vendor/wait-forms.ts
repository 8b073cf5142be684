import { parseDuration } from '../../core/duration.ts'

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
