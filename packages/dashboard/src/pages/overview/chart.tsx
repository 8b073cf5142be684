import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { formatNumber } from '../../format/number.ts'
import { formatClock } from '../../format/time.ts'
import type { Timeline } from '../../live/entries.ts'
import { live } from '../../live/live.ts'
import { type ChartColours, chartColours, hatch } from './chart-colours.ts'
import { drawMarks, marksOf } from './chart-marks.ts'
import { stacked } from './stacked.ts'
import { timeLabels } from './time-labels.ts'

const height = 240
const margin = { right: 4, left: 44 }

/**
 * Decisions per second, stacked: allowed, degraded above it, denied on top. Policies and outages are marked in time.
 */
export function Chart({ timeline, minutes }: { readonly timeline: Timeline; readonly minutes: number }) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const shown = useRef(timeline)
  shown.current = timeline
  useEffect(() => {
    const home = place.current!
    const make = (): uPlot => {
      const made = new uPlot(
        optionsOf(home.clientWidth, chartColours(home), () => shown.current),
        [[]],
        home,
      )
      made.setData(stacked(shown.current, minutes))
      return made
    }
    plot.current = make()
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: home.clientWidth, height }))
    resized.observe(home)
    // The canvas does not follow style sheets by itself.
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const again = (): void => {
      plot.current?.destroy()
      plot.current = make()
    }
    dark.addEventListener('change', again)
    return () => {
      dark.removeEventListener('change', again)
      resized.disconnect()
      plot.current?.destroy()
    }
  }, [minutes])
  useEffect(() => {
    plot.current?.setData(stacked(timeline, minutes))
  }, [timeline, minutes])
  return <div class="chart" ref={place} role="img" aria-label={`Decisions per second in the last ${minutes} minutes`} />
}

function optionsOf(width: number, colours: ChartColours, timeline: () => Timeline): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: colours.soft,
    font: '11px system-ui, sans-serif',
    grid: { stroke: colours.line, width: 1 },
    ticks: { show: false },
  }
  const area = (label: string, fill: uPlot.Series.Fill, stroke: string): uPlot.Series => ({
    label,
    fill,
    stroke,
    width: 1,
    points: { show: false },
    spanGaps: false,
  })
  return {
    width,
    height,
    cursor: { drag: { setScale: false }, points: { show: false }, y: false },
    legend: { show: false },
    scales: { x: { time: true }, y: { range: (_, __, most) => [0, Math.max(5, most * 1.15)] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30,
        values: (u, ticks, __, ___, step) => {
          const { min = 0, max = 1 } = u.scales.x ?? {}
          const perSecond = (u.width - margin.left - margin.right) / (max - min)
          return timeLabels(ticks, step, { max, perSecond, margin: margin.right })
        },
        space: 90,
      },
      { ...axis, size: margin.left, values: (_, ticks) => ticks.map((value) => formatNumber(value)), space: 50 },
    ],
    // Drawn from the whole to its parts, each one covering the lower part of the previous one.
    series: [
      {},
      area('denied', colours.deny, colours.deny),
      area('degraded', (u) => hatch(u.ctx, colours), colours.degraded),
      area('allowed', colours.allowFill, colours.allow),
    ],
    hooks: {
      draw: [(u) => drawMarks(u, marksOf(timeline().happenings, live.hello.get()?.startedAt), colours)],
      setCursor: [showReadout],
    },
    padding: [8, margin.right, 0, 0],
  }
}

/** The values at the pointer are shown above the chart, in a place that does not move. */
function showReadout(u: uPlot): void {
  const readout = u.root.parentElement?.parentElement?.querySelector<HTMLElement>('.chart-readout')
  if (!readout) return
  const { idx } = u.cursor
  const [at, total, below, allowed] = [0, 1, 2, 3].map((series) => (idx == null ? null : u.data[series]?.[idx]))
  if (at == null || total == null) {
    readout.textContent = ''
    return
  }
  const parts = [
    `${formatNumber(allowed)} allowed`,
    `${formatNumber(total - (below ?? 0))} denied`,
    `${formatNumber((below ?? 0) - (allowed ?? 0))} degraded`,
  ]
  readout.textContent = `${formatClock(at * 1000)}  ${parts.join(' · ')}`
}
