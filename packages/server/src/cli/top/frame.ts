import { bar, count, duration, percentage, rate } from '../terminal/numbers.ts'
import type { Style } from '../terminal/style.ts'
import { pad, safe, shorten, widthOf } from '../terminal/text.ts'
import { partLines, pipelineListing, upstreamListing } from './reported-parts.ts'
import type { KeyRate, View } from './snapshot.ts'

export interface FrameSize {
  readonly columns: number
  readonly rows: number
}

export interface FrameState {
  readonly address: string
  readonly clock: string
  readonly paused: boolean
  readonly sort: 'used' | 'denied'
  /** Why the figures are old, when the daemon does not answer. */
  readonly trouble: string | undefined
}

/** One picture of `sluice top`, exactly as high as there is room. */
export function frame(view: View | undefined, state: FrameState, size: FrameSize, style: Style): string[] {
  const width = Math.max(40, size.columns)
  // Upstreams and pipelines take at most a third of the height each; where that is not enough, pipelines give way.
  const third = Math.floor(size.rows / 3)
  const head = [
    headLine(view, state, width, style),
    view === undefined ? style.faint('waiting for the first answer') : totalsLine(view, width, style),
    '',
    ...withGap(partLines(upstreamListing, view?.upstreams ?? [], third, width, style)),
    ...withGap(partLines(pipelineListing, view?.pipelines ?? [], third, width, style)),
  ]
  const foot = [state.trouble === undefined ? footLine(state, style) : style.bad(shorten(safe(state.trouble), width))]
  const room = Math.max(2, size.rows - head.length - foot.length)
  const first = Math.ceil((room - 3) / 2)
  const lists = [
    { title: 'Most used', keys: view?.hottest ?? [], paint: style.accent },
    { title: 'Most denied', keys: view?.mostDenied ?? [], paint: style.bad },
  ]
  if (state.sort === 'denied') lists.reverse()
  const [upper, lower] = lists.map(({ title, keys, paint }, l) =>
    keyList(title, keys, l === 0 ? first : room - 3 - first, width, paint, style),
  )
  const body = [...(upper ?? []), '', ...(lower ?? [])].slice(0, room)
  while (body.length < room) body.push('')
  return [...head, ...body, ...foot].slice(0, size.rows)
}

const withGap = (lines: readonly string[]): readonly string[] => (lines.length === 0 ? [] : [...lines, ''])

function headLine(view: View | undefined, { address, clock, paused }: FrameState, width: number, style: Style): string {
  const room = width - clock.length - (paused ? 10 : 2)
  const about =
    view === undefined
      ? []
      : [safe(view.service), processes(view), `store ${safe(view.store)}`, `policy ${safe(view.policyVersion)}`]
  let left = shorten(`sluice top  ${address}`, room)
  for (const piece of about) if (left.length + 2 + piece.length <= room) left += `  ${piece}`
  const mark = paused ? style.warn('  PAUSED') : ''
  return `${style.strong(left)}${mark}${pad(style.faint(clock), width - left.length - (paused ? 8 : 0), 'right')}`
}

function processes({ replicas, overdueMs }: View): string {
  const all = replicas === 1 ? '1 process' : `${replicas} processes`
  if (overdueMs.length === 0) return all
  return `${all}, ${overdueMs.length === replicas ? '' : `${overdueMs.length} `}last seen ${duration(Math.max(...overdueMs))} ago`
}

function totalsLine(view: View, width: number, style: Style): string {
  const { allowedPerSecond, deniedPerSecond, degradedPerSecond } = view
  const total = allowedPerSecond + deniedPerSecond
  const share = total === 0 ? 0 : deniedPerSecond / total
  const pieces = [
    style.good(`${rate(allowedPerSecond)}/s allowed`),
    (share > 0 ? style.bad : style.faint)(`${rate(deniedPerSecond)}/s denied (${percentage(share)})`),
    ...(degradedPerSecond > 0 ? [style.warn(`${rate(degradedPerSecond)}/s degraded`)] : []),
    style.faint(`${count(view.allowed)} allowed and ${count(view.denied)} denied in all`),
  ]
  return pieces.reduce((line, piece) => (widthOf(line) + 2 + widthOf(piece) <= width ? `${line}  ${piece}` : line))
}

function keyList(
  title: string,
  keys: readonly KeyRate[],
  rows: number,
  width: number,
  paint: (text: string) => string,
  style: Style,
): string[] {
  const head = style.strong(
    `${pad(title, width - 36, 'left')}${pad('per second', 12, 'right')}${pad('last 2 min', 12, 'right')}`,
  )
  if (keys.length === 0) return [head, style.faint('  none yet')]
  const highest = Math.max(...keys.map(({ perSecond }) => perSecond), 1)
  const lines = keys.slice(0, Math.max(0, rows)).map(({ key, perSecond, count: all, error }) => {
    const name = pad(`  ${shorten(safe(key), width - 40)}`, width - 36, 'left')
    return `${name}${pad(rate(perSecond), 12, 'right')}${pad(`${error > 0 ? '≤' : ''}${count(all)}`, 12, 'right')}  ${paint(bar(perSecond / highest, 10))}`
  })
  return [head, ...lines]
}

function footLine({ sort }: FrameState, style: Style): string {
  const key = (letter: string, word: string, on = false): string =>
    `${style.strong(letter)} ${on ? style.accent(word) : word}`
  return [
    key('q', 'quit'),
    key('p', 'pause'),
    key('u', 'used first', sort === 'used'),
    key('d', 'denied first', sort === 'denied'),
  ].join('  ')
}
