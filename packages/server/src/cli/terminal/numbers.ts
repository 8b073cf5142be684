/** A length of time as people say it: `1.2 s`, `3 min`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return 'never'
  if (ms < 999.5) return `${ms < 9.995 && !Number.isInteger(ms) ? ms.toFixed(2) : Math.round(ms)} ms`
  // What rounds up to a minute is one: never "60 s".
  if (ms < 59_950) return `${trim((ms / 1000).toFixed(1))} s`
  if (ms < 60_000) return '1 min'
  if (ms < 3_600_000) return pair(ms, 60_000, 'min', 1000, 's')
  if (ms < 86_400_000) return pair(ms, 3_600_000, 'h', 60_000, 'min')
  return pair(ms, 86_400_000, 'd', 3_600_000, 'h')
}

function pair(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const wholes = Math.floor(ms / large)
  const rest = Math.floor((ms % large) / small)
  return rest === 0 ? `${wholes} ${largeName}` : `${wholes} ${largeName} ${rest} ${smallName}`
}

const trim = (text: string): string => text.replace(/\.0$/, '')

/** A whole number with thousands apart: `12,345`. */
export function count(number: number): string {
  return Math.round(number).toLocaleString('en-US')
}

/** How often per second; below ten with one decimal: `0.4`, `12`, `<0.1`. */
export function rate(perSecond: number): string {
  if (perSecond > 0 && perSecond < 0.05) return '<0.1'
  return perSecond < 9.95 ? trim(perSecond.toFixed(1)) : count(perSecond)
}

/** An amount of memory in the unit that leaves one to three digits before the point: `1.4 MB`, `463 MB`. */
export function bytes(number: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  // By the rounded figure, so that none is shown as 1000 of a smaller unit.
  const power = Math.max(
    0,
    units.findLastIndex((_, i) => Math.round(number / 1000 ** (i - 1)) >= 1000),
  )
  const scaled = number / 1000 ** power
  return `${power > 0 && scaled < 10 ? trim(scaled.toFixed(1)) : Math.round(scaled)} ${units[power]}`
}

/** So many things, in one or many: `1 rule`, `2 rules`. */
export function countOf(number: number, thing: string): string {
  return `${count(number)} ${thing}${number === 1 ? '' : 's'}`
}

/** A share of one as a percentage; 0% and 100% only when they are exact. */
export function percentage(share: number): string {
  const percent = share * 100
  if (percent > 0 && percent < 1) return '<1%'
  return percent > 99 && percent < 100 ? '>99%' : `${Math.round(percent)}%`
}

/** A bar of `width` columns, `share` (0 to 1) of it filled. */
export function bar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width)
  return '█'.repeat(filled) + '░'.repeat(width - filled)
}
