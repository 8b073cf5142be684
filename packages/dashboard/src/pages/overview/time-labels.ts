import { formatClock } from '../../format/time.ts'

/** Half the width of a label, in pixels: `12:00:00` and `12:00`. */
const halfOf = { seconds: 26, minutes: 17 }

/**
 * The labels of the axis of time, at ticks in seconds since 1970 that are `step` apart. A label that would be cut off
 * at the right edge of the chart is left out.
 */
export function timeLabels(
  ticks: readonly number[],
  step: number,
  { max, perSecond, margin }: { readonly max: number; readonly perSecond: number; readonly margin: number },
): string[] {
  const half = step < 60 ? halfOf.seconds : halfOf.minutes
  return ticks.map((at) =>
    (max - at) * perSecond + margin < half ? '' : formatClock(at * 1000).slice(0, step < 60 ? 8 : 5),
  )
}
