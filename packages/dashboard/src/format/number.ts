const scales = [
  { above: 1e12, divide: 1e12, unit: 'T' },
  { above: 1e9, divide: 1e9, unit: 'G' },
  { above: 1e6, divide: 1e6, unit: 'M' },
  { above: 1e4, divide: 1e3, unit: 'k' },
]

/**
 * At most three significant digits, but whole numbers below 10,000 in full: 0.123, 4.4, 1,034, 12.3k, 4.56M. What
 * rounds up to the next unit is in that: 999,950 is 1M.
 */
export function formatNumber(value: number | undefined | null): string {
  if (value === undefined || value === null || !Number.isFinite(value)) return '–'
  const rounded = Math.abs(value) >= 1e4 ? Number(value.toPrecision(3)) : value
  const scale = scales.find(({ above }) => Math.abs(rounded) >= above)
  if (scale) return `${significant(value / scale.divide)}${scale.unit}`
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en')
  return significant(value)
}

/** A figure that changes every second: always with the same number of digits, so that its unit does not move. */
export function formatSteady(value: number | undefined): string {
  if (value === undefined || value === 0 || Math.abs(value) >= 100) return formatNumber(value)
  return value < 0.05 ? '<0.1' : value.toFixed(1)
}

/** A share of one as a percentage: 4.4%, 62%, 99.7%, <0.1%. 0% and 100% are exact. */
export function formatShare(share: number | undefined): string {
  if (share === undefined || !Number.isFinite(share)) return '–'
  const percent = share * 100
  if (percent > 0 && percent < 0.1) return '<0.1%'
  if (percent < 100 && percent > 99.9) return '>99.9%'
  const isWhole = percent === 0 || (percent >= 9.95 && percent < 99) || percent >= 100
  return `${isWhole ? Math.round(percent) : percent.toFixed(1)}%`
}

/** A rate in the unit that is easy to read, always with one decimal: 11.4/s, 1.4/min. */
export function formatRate(perSecond: number): string {
  return perSecond > 0 && perSecond < 1 ? `${formatSteady(perSecond * 60)}/min` : `${formatSteady(perSecond)}/s`
}

function significant(value: number): string {
  return String(Number(value.toPrecision(3)))
}
