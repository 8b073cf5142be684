import { arrow, box, dot, line, picture, rect, text } from './svg.ts'

const lanes = { writer: 76, redis: 240, reader: 404 } as const
const names = { writer: 'process A', redis: 'Redis', reader: 'process B' } as const
type Lane = keyof typeof lanes

export function cachePicture(): string {
  const parts: string[] = []
  const says = (lane: Lane, y: number, ...lines: string[]): void => {
    parts.push(
      rect('paper', lanes[lane] - 70, y - 13, 140, 18 + 15 * (lines.length - 1)),
      ...lines.map((each, row) => text(lanes[lane], y + row * 15, each, { as: 'small', anchor: 'middle' })),
    )
  }
  const sends = (from: Lane, to: Lane, y: number, what: string): void => {
    const towards = lanes[to] > lanes[from] ? 1 : -1
    parts.push(
      arrow(lanes[from] + 4 * towards, y, lanes[to] - 4 * towards, y),
      text((lanes[from] + lanes[to]) / 2, y - 6, what, { as: 'soft small', anchor: 'middle' }),
    )
  }
  const end = 424
  for (const [lane, x] of Object.entries(lanes)) {
    parts.push(line('grid', x, 72, x, end), box(x - 50, 40, 100, 32, { title: names[lane as Lane] }))
  }
  sends('redis', 'reader', 98, 'proof: position 7')
  says('reader', 118, 'returns the old value', 'as fresh, within D')
  says('writer', 160, 'the database', 'has committed')
  sends('writer', 'redis', 200, 'invalidate, strict')
  says('redis', 222, 'the log is at 8')
  sends('redis', 'writer', 250, 'recorded')
  sends('redis', 'reader', 250, 'message: 8')
  says('reader', 272, 'drops the value')
  says('writer', 272, 'waits for D (1 s)')
  says('reader', 304, 'message lost? the next', 'proof says 8 as well; no', 'proof within D: only stale')
  parts.push(dot('pass', lanes.writer, 372, 5), dot('pass', lanes.reader, 372, 5))
  says('writer', 394, 'invalidate() returns')
  says('reader', 394, 'fetches the new value')
  parts.push(
    text(14, end + 24, 'A value carries the position of the log from before its data was read.', { as: 'small' }),
    text(14, end + 40, 'After a strict invalidation no process returns the old one as fresh.', { as: 'small' }),
  )
  return picture(end + 54, 'Invalidation, with mode: strict', parts)
}
