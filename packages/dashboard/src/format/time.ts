const units = [
  { ms: 86_400_000, name: 'd' },
  { ms: 3_600_000, name: 'h' },
  { ms: 60_000, name: 'min' },
  { ms: 1000, name: 's' },
]

/** A length of time in its largest unit: 0.4 s, 52 s, 6 min, 2 h, 3 d. Below 10 s with one decimal. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return 'never'
  if (ms < 1) return ms <= 0 ? '0 s' : `${Number(ms.toPrecision(2))} ms`
  if (ms < 99.5) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${Number((ms / 1000).toFixed(1))} s`
  const unit = units.find((each) => ms >= each.ms)!
  return `${Math.floor(ms / unit.ms)} ${unit.name}`
}

const periods: Readonly<Record<number, string>> = { 1000: 'second', 60000: 'minute', 3600000: 'hour', 86400000: 'day' }

/** A length of time in the largest unit that it is a multiple of: 90 s, and not 1 min. */
export function formatExactly(ms: number): string {
  const unit = units.find((each) => ms > 0 && ms % each.ms === 0)
  return unit === undefined ? `${ms} ms` : `${ms / unit.ms} ${unit.name}`
}

/** The period of a limit, as it follows "per": minute, 15 min. */
export function formatPeriod(ms: number): string {
  return periods[ms] ?? formatExactly(ms)
}

/** How long ago: "just now", "6 min ago". */
export function formatAgo(ms: number): string {
  return ms < 2000 ? 'just now' : `${formatDuration(Math.floor(ms / 1000) * 1000)} ago`
}

/** The time of day in the reader's zone: 10:45:07. */
export function formatClock(atMs: number): string {
  return new Date(atMs).toLocaleTimeString(undefined, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  })
}

/** Date and time in the reader's zone. */
export function formatMoment(atMs: number): string {
  return new Date(atMs).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long', hourCycle: 'h23' })
}
