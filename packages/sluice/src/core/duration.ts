import { invalidOption } from './errors.ts'

/** A length of time: milliseconds, or a number with a unit such as `'15m'`, `'1h30m'`, `'500ms'`. */
export type Duration = number | string

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}
const whole = /^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/
const piece = /(\d+(?:\.\d+)?)(ms|[smhdw])/g

/**
 * Reads a duration as whole milliseconds.
 *
 * @example parseDuration('1h30m', 'per') // 5400000
 */
export function parseDuration(value: Duration, option: string): number {
  const ms = typeof value === 'number' ? value : parseText(value, option)
  if (!Number.isFinite(ms) || ms < 0 || !Number.isInteger(ms)) {
    throw invalidOption(
      option,
      value,
      'use a whole number of milliseconds, or text such as "500ms", "15m", "1h30m", "1d"',
    )
  }
  return ms
}

function parseText(text: unknown, option: string): number {
  const trimmed = typeof text === 'string' ? text.trim() : ''
  if (trimmed.length > 64 || !whole.test(trimmed)) {
    throw invalidOption(option, text, 'use a number with a unit, such as "500ms", "30s", "15m", "1h30m", "1d", "1w"')
  }
  let ms = 0
  for (const [, amount, unit] of trimmed.matchAll(piece)) ms += Number(amount) * unitMs[unit!]!
  return Math.round(ms * 1e6) / 1e6
}

/** The shortest text for a number of milliseconds: 90000 is `1m30s`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return 'never'
  let rest = Math.round(ms)
  if (rest < 1000) return `${rest}ms`
  let text = ''
  for (const unit of ['d', 'h', 'm', 's', 'ms']) {
    const amount = Math.floor(rest / unitMs[unit]!)
    if (amount > 0) text += `${amount}${unit}`
    rest -= amount * unitMs[unit]!
  }
  return text
}
