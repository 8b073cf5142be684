import { formatDuration } from '../../format/time.ts'
import { lastSeconds, type Second, type Timeline } from '../../live/entries.ts'

/** The figures of the tiles: means of the last ten seconds. */
export interface Now {
  readonly allowed: number
  readonly denied: number
  readonly degraded: number
  readonly p99Ms: number | undefined
  /** As text, when the last degraded decision was. */
  readonly degradedNote: string
}

const over = 10

export function nowOf(timeline: Timeline): Now | undefined {
  const known = lastSeconds(timeline, over).filter((second) => second !== undefined)
  if (known.length === 0) return undefined
  const mean = (of: (second: Second) => number): number => known.reduce((sum, each) => sum + of(each), 0) / known.length
  const [allowed, denied, degraded] = [mean((s) => s.allowed), mean((s) => s.denied), mean((s) => s.degraded)]
  return {
    allowed,
    denied,
    degraded,
    p99Ms: known.at(-1)?.p99Ms ?? undefined,
    degradedNote: degraded > 0 ? 'without the store' : sinceDegraded(timeline),
  }
}

function sinceDegraded({ seconds }: Timeline): string {
  const newest = Math.max(...seconds.keys())
  const last = Math.max(...[...seconds.values()].filter((second) => second.degraded > 0).map((second) => second.at))
  return Number.isFinite(last) ? `none for ${formatDuration((newest - last) * 1000)}` : 'none in 15 minutes'
}

/** A line of the last 15 minutes in steps of 15 seconds; a step without any second is a gap. */
export function sparkOf(timeline: Timeline, of: (second: Second) => number | null): (number | undefined)[] {
  const step = 15
  const seconds = lastSeconds(timeline, 900)
  return Array.from({ length: 60 }, (_, i) => {
    const values = seconds
      .slice(i * step, (i + 1) * step)
      .map((second) => (second === undefined ? null : of(second)))
      .filter((value) => value !== null)
    return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length
  })
}
