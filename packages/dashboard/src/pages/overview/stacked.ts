import type { AlignedData } from 'uplot'
import type { Timeline } from '../../live/entries.ts'

/** While there is little data, the chart shows this much time, and not an empty quarter of an hour. */
const leastSeconds = 120

/**
 * The last minutes as areas on top of each other, in steps of a second: the whole, the whole without what was denied,
 * and what was allowed by the store. Where a second is missing there is null, which stays a gap.
 */
export function stacked({ seconds }: Timeline, minutes: number): AlignedData {
  const newest = seconds.size === 0 ? Math.floor(Date.now() / 1000) : Math.max(...seconds.keys())
  const count = Math.min(minutes * 60, Math.max(leastSeconds, newest - Math.min(newest, ...seconds.keys()) + 1))
  const times: number[] = []
  const all: (number | null)[] = []
  const withoutDenied: (number | null)[] = []
  const exact: (number | null)[] = []
  for (let at = newest - count + 1; at <= newest; at++) {
    const second = seconds.get(at)
    times.push(at)
    all.push(second ? second.allowed + second.denied : null)
    withoutDenied.push(second ? second.allowed : null)
    // Degraded decisions are allowed or denied, too. Those that were denied are shown as denied.
    exact.push(second ? Math.max(0, second.allowed - second.degraded) : null)
  }
  return [times, ...[all, withoutDenied, exact].map(smoothed)] as AlignedData
}

/** Means of five seconds: single seconds of few decisions are noise. Gaps stay as they are. */
export function smoothed(values: readonly (number | null)[]): (number | null)[] {
  return values.map((value, i) => {
    if (value === null) return null
    const near = values.slice(Math.max(0, i - 4), i + 1).filter((each) => each !== null)
    return near.reduce((sum, each) => sum + each, 0) / near.length
  })
}
