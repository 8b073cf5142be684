import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createShipper } from '../../packages/sluice/src/shipper/create-shipper.ts'
import { arrow, box, picture, rect, text } from './svg.ts'

const events = 18
const accepted = 8

interface Segment {
  readonly file: string
  readonly events: number[]
}

/** Stores 18 events in short segments, and sends them to a server that takes two batches of four and then fails. */
async function run(): Promise<{ segments: Segment[]; removed: Set<string>; pending: number }> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-picture-'))
  const files = (): string[] => readdirSync(dir).filter((name) => /\.(open|seg)$/.test(name))
  const nameOf = (file: string): string => file.replace(/\.\w+$/, '')
  let taken = 0
  try {
    const shipper = await createShipper({
      dir,
      durability: 'os',
      flushInterval: false,
      segmentBytes: 330,
      send: async (batch) => {
        if (taken >= accepted) return { status: 500 }
        taken += batch.length
        return { status: 200 }
      },
      capacity: async () => ({ ready: true, maxBatchSize: 4, delayBetweenBatches: 0 }),
    })
    const segments: Segment[] = []
    for (let event = 1; event <= events; event++) {
      await shipper.ship({ event: 100 + event })
      const file = files().map(nameOf).sort().at(-1)!
      const known = segments.find((segment) => segment.file === file)
      if (known) known.events.push(event)
      else segments.push({ file, events: [event] })
    }
    await shipper.flush()
    const left = new Set(files().map(nameOf))
    const removed = new Set(segments.map(({ file }) => file).filter((file) => !left.has(file)))
    const { pending } = shipper.stats()
    await shipper.close()
    return { segments, removed, pending }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const cell = 38
const rowHeight = 34
const top = 104

export async function shipperPicture(): Promise<string> {
  const { segments, removed, pending } = await run()
  const end = top + segments.length * rowHeight
  const rows = segments.flatMap((segment, row) => {
    const y = top + row * rowHeight
    const isGone = removed.has(segment.file)
    const label = isGone ? 'removed' : row === segments.length - 1 ? '.open' : '.seg'
    return [
      text(14, y + 18, label, { as: 'soft small' }),
      ...segment.events.flatMap((event, column) => {
        const x = 76 + column * (cell + 3)
        const as = isGone ? 'gone' : event <= accepted ? 'pass' : 'box'
        return [
          rect(as, x, y, cell, 26, 4),
          text(x + cell / 2, y + 17, String(event), {
            as: as === 'pass' ? 'inverse small' : 'small',
            anchor: 'middle',
          }),
        ]
      }),
    ]
  })
  return picture(end + 70, `${events} events; the server took ${accepted}, then failed`, [
    box(14, 40, 92, 34, { title: 'ship()' }),
    text(116, 54, 'resolves when the newest segment has the event,', { as: 'small' }),
    text(116, 70, 'on disk; flush() sends from the oldest', { as: 'small' }),
    arrow(60, 74, 60, 96),
    ...rows,
    rect('pass', 14, end + 8, 11, 11, 2),
    text(31, end + 18, 'shipped: before the checkpoint', { as: 'small' }),
    rect('box', 270, end + 8, 11, 11, 2),
    text(287, end + 18, `pending: ${pending} events, on disk`, { as: 'small' }),
    text(14, end + 40, 'A segment is removed when all of it was shipped.', { as: 'small' }),
    text(14, end + 56, 'After a crash, sending goes on behind the checkpoint.', { as: 'small' }),
  ])
}
