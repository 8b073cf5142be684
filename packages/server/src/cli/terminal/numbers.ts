/** A length of time as people say it: `1.2 s`, `3 min`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return 'never'
  if (ms < 1000) return `${ms < 10 && !Number.isInteger(ms) ? ms.toFixed(2) : Math.round(ms)} ms`
  if (ms < 60_000) return `${trim((ms / 1000).toFixed(1))} s`
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

/** An amount of memory in the unit that leaves one to three digits before the point: `1.4 MB`, `463 MB`. */
export function bytes(number: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(number, 1)) / 3)))
  const scaled = number / 1000 ** power
  return `${power > 0 && scaled < 10 ? trim(scaled.toFixed(1)) : Math.round(scaled)} ${units[power]}`
}

/** So many things, in one or many: `1 rule`, `2 rules`. */
export function countOf(number: number, thing: string): string {
  return `${count(number)} ${thing}${number === 1 ? '' : 's'}`
}

/** A bar of `width` columns, `share` (0 to 1) of it filled. */
export function bar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width)
  return '█'.repeat(filled) + '░'.repeat(width - filled)
}
