/** The periods of Envoy's limits. Like Envoy's own service, a month has 30 days and a year 365. */
export const unitSeconds = {
  SECOND: 1,
  MINUTE: 60,
  HOUR: 3600,
  DAY: 86_400,
  WEEK: 604_800,
  MONTH: 2_592_000,
  YEAR: 31_536_000,
} as const

export type Unit = keyof typeof unitSeconds

/** The unit of a period, if Envoy has a word for it. */
export function unitOf(windowMs: number): Unit | 'UNKNOWN' {
  const found = Object.entries(unitSeconds).find(([, seconds]) => seconds * 1000 === windowMs)
  return (found?.[0] as Unit | undefined) ?? 'UNKNOWN'
}

/** A limit as Envoy counts it: windows begin at multiples of the period. */
export function limitOf(unit: Unit, amount: number, name?: string): Record<string, unknown> {
  const per = { SECOND: '1s', MINUTE: '1m', HOUR: '1h', DAY: '1d', WEEK: '7d', MONTH: '30d', YEAR: '365d' }[unit]
  return { ...(name === undefined ? {} : { name }), amount, per, align: 'clock' }
}
