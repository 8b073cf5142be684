import { Sparkline } from '../../components/sparkline.tsx'
import { Tile } from '../../components/tile.tsx'
import { formatNumber, formatShare, formatSteady } from '../../format/number.ts'
import type { Timeline } from '../../live/entries.ts'
import { nowOf, sparkOf } from './now.ts'

/** The most important figures, visible without scrolling. */
export function Tiles({ timeline, deadlineMs }: { readonly timeline: Timeline; readonly deadlineMs: number }) {
  const now = nowOf(timeline)
  const share = now?.shareDenied
  return (
    <section class="tiles" aria-label="Now">
      <Tile label="Allowed" value={formatSteady(now?.allowed)} unit="/s" note="mean of 10 s">
        <Sparkline kind="allow" values={sparkOf(timeline, (second) => second.allowed)} />
      </Tile>
      <Tile
        label="Denied"
        value={formatSteady(now?.denied)}
        unit="/s"
        note={share === undefined ? 'no requests' : `${formatShare(share)} of requests`}
      >
        <Sparkline kind="deny" values={sparkOf(timeline, (second) => second.denied)} />
      </Tile>
      <Tile label="Degraded" value={formatSteady(now?.degraded)} unit="/s" note={now?.degradedNote}>
        <Sparkline kind="degraded" values={sparkOf(timeline, (second) => second.degraded)} />
      </Tile>
      <Tile
        label="Decision p99"
        value={formatSteady(now?.p99Ms)}
        unit="ms"
        note={`deadline ${formatNumber(deadlineMs)} ms`}
      >
        <Sparkline values={sparkOf(timeline, (second) => second.p99Ms)} />
      </Tile>
    </section>
  )
}
