import { Sparkline } from '../../components/sparkline.tsx'
import { Tile } from '../../components/tile.tsx'
import { formatNumber, formatShare, formatSteady } from '../../format/number.ts'
import type { Second, Timeline } from '../../live/entries.ts'
import { nowOf, sparkOf } from './now.ts'

type Kind = 'allowed' | 'denied' | 'degraded'
const lines = { allowed: 'allow', denied: 'deny', degraded: 'degraded' } as const

/** How much is allowed, denied and degraded per second, each with its course. */
export function DecisionTiles(props: {
  readonly perSecond: Readonly<Record<Kind, number>> | undefined
  readonly degradedNote: string | undefined
  readonly course: (of: Kind) => readonly (number | undefined)[]
}) {
  const tiles = [
    { label: 'Allowed', of: 'allowed', note: 'mean of 10 s' },
    { label: 'Denied', of: 'denied', note: shareWords(props.perSecond) },
    { label: 'Degraded', of: 'degraded', note: props.degradedNote },
  ] as const
  return tiles.map(({ label, of, note }) => (
    <Tile key={label} label={label} value={formatSteady(props.perSecond?.[of])} unit="/s" note={note}>
      <Sparkline kind={lines[of]} values={props.course(of)} />
    </Tile>
  ))
}

/** Which share of the requests was denied, if there were any. */
export function shareWords(
  { allowed, denied }: { allowed: number; denied: number } = { allowed: 0, denied: 0 },
): string {
  return allowed + denied === 0 ? 'no requests' : `${formatShare(denied / (allowed + denied))} of requests`
}

/** The most important figures, visible without scrolling. */
export function Tiles({ timeline, deadlineMs }: { readonly timeline: Timeline; readonly deadlineMs: number }) {
  const now = nowOf(timeline)
  const course = (of: Exclude<keyof Second, 'kind'>) => sparkOf(timeline, (second) => second[of])
  return (
    <section class="tiles" aria-label="Now">
      <DecisionTiles perSecond={now} degradedNote={now?.degradedNote} course={course} />
      <Tile
        label="Decision p99"
        value={formatSteady(now?.p99Ms)}
        unit="ms"
        note={`deadline ${formatNumber(deadlineMs)} ms`}
      >
        <Sparkline values={course('p99Ms')} />
      </Tile>
    </section>
  )
}
