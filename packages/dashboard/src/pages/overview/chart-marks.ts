import type uPlot from 'uplot'
import { formatClock, formatDuration } from '../../format/time.ts'
import type { Happening } from '../../live/entries.ts'
import type { ChartColours } from './chart-colours.ts'

/** A mark on the chart: where, and its label. */
export interface Mark {
  readonly at: number
  readonly text: string
}

/**
 * When the daemon started, new policies, and outages with their duration. Only the beginning of an outage is marked.
 */
export function marksOf(happenings: readonly Happening[], startedAtMs?: number): Mark[] {
  const isMarked = happenings.some(({ kind }) => kind === 'restarted')
  const started =
    startedAtMs === undefined || isMarked
      ? []
      : [{ at: startedAtMs / 1000, text: `started ${formatClock(startedAtMs).slice(0, 5)}` }]
  const marks = happenings.flatMap((each): Mark[] => {
    if (each.kind === 'policy') return [{ at: each.at, text: `policy ${each.version.slice(0, 7)}` }]
    if (each.kind === 'restarted') return [{ at: each.at, text: 'restart' }]
    if (each.kind === 'exact-again')
      return [{ at: each.since, text: `store away, ${formatDuration((each.at - each.since) * 1000)}` }]
    const isOver = happenings.some((other) => other.kind === 'exact-again' && other.at >= each.at)
    return each.kind === 'degraded' && !isOver ? [{ at: each.at, text: 'store away' }] : []
  })
  return [...started, ...marks]
}

/** Draws dotted lines with their labels; labels that would overlap the previous one are left out. */
export function drawMarks(u: uPlot, marks: readonly Mark[], colours: ChartColours): void {
  const { ctx } = u
  const { left, top, width, height } = u.bbox
  const scale = devicePixelRatio
  ctx.save()
  ctx.font = `${11 * scale}px system-ui, sans-serif`
  // The axes leave their own settings in the context.
  ctx.textAlign = 'left'
  ctx.textBaseline = 'alphabetic'
  ctx.lineWidth = scale
  ctx.setLineDash([2 * scale, 3 * scale])
  let free = left
  for (const { at, text } of [...marks].sort((a, b) => a.at - b.at)) {
    const x = Math.round(u.valToPos(at, 'x', true))
    if (x < left || x > left + width) continue
    ctx.strokeStyle = colours.soft
    ctx.beginPath()
    ctx.moveTo(x, top)
    ctx.lineTo(x, top + height)
    ctx.stroke()
    const room = ctx.measureText(text).width
    const isLeft = x + room + 8 * scale > left + width
    const start = isLeft ? x - room - 5 * scale : x + 5 * scale
    if (start < free) continue
    ctx.fillStyle = colours.ink
    ctx.fillText(text, start, top + 11 * scale)
    free = start + room + 6 * scale
  }
  ctx.restore()
}
