import { join } from 'node:path'
import { checkOptionNames } from '../../core/check-options.ts'
import { type FileSystem, quietly } from '../files/file-system.ts'
import { nodeFiles } from '../files/node-files.ts'
import { eventId } from '../log/segment/segment-name.ts'
import { type Damage, SegmentReader } from '../log/segment/segment-reader.ts'
import { payloadOf, type StoredEvent } from '../log/segment/stored-event.ts'
import { type BufferReport, inspectBuffer, type SegmentReport } from './inspect-buffer.ts'

/** A part of a segment that could not be read. */
export interface DamageReport {
  readonly file: string
  readonly offset: number
  readonly bytes: number
  /** `tail`: after the last good record, as a crash in the middle of a write leaves it. */
  readonly kind: 'damaged' | 'tail'
}

export interface VerifyReport {
  readonly buffer: BufferReport
  readonly events: number
  readonly lost: number
  readonly damage: readonly DamageReport[]
}

/** Checks every record of a buffer. It changes nothing; an open segment may end with a record that is being written. */
export async function verifyBuffer(dir: string, options: { readonly fs?: FileSystem } = {}): Promise<VerifyReport> {
  checkOptionNames('verifyBuffer', options, ['fs'])
  const { fs = nodeFiles } = options
  const buffer = await inspectBuffer(dir, { fs })
  let [events, lost] = [0, 0]
  const damage: DamageReport[] = []
  for (const segment of buffer.segments) {
    const found = await readThrough(dir, segment, 0, () => {}, fs).catch(() => undefined)
    if (found === undefined) continue
    events += found.events
    lost += found.lost
    for (const { offset, bytes, kind } of found.damage) {
      if (!segment.isOpen || kind === 'damaged') damage.push({ file: segment.file, offset, bytes: bytes.length, kind })
    }
  }
  return { buffer, events, lost, damage }
}

/** What a full read of a segment finds. */
export interface ReadThrough {
  readonly events: number
  /** Numbers that are missing within the segment. */
  readonly lost: number
  readonly damage: readonly Omit<Damage, 'segment'>[]
}

const chunk = { events: 1000, bytes: 1 << 20 }

/** Reads every record of a segment from an offset on and checks it; `onEvent` gets those that are good. */
export async function readThrough(
  dir: string,
  segment: SegmentReport,
  offset: number,
  onEvent: (event: StoredEvent) => void | Promise<void> = () => {},
  fs: FileSystem = nodeFiles,
): Promise<ReadThrough> {
  const damage: Omit<Damage, 'segment'>[] = []
  let [events, lost] = [0, 0]
  const file = await fs.open(join(dir, segment.file), 'read')
  try {
    const { name, producer } = segment
    const reader = new SegmentReader(
      file,
      { name, producer, offset, expected: undefined, confirmedSeq: () => 0 },
      {
        lost: (_, from, to) => {
          lost += to - from
        },
        damage: (found) => void damage.push(found),
      },
    )
    const size = await file.size()
    for (;;) {
      const read: StoredEvent[] = []
      const [, exhausted] = await reader.read(read, chunk, size, true)
      for (const event of read) await onEvent(event)
      events += read.length
      if (exhausted) return { events, lost, damage }
    }
  } finally {
    await quietly(file.close())
  }
}

/** The pending events, oldest first, as objects with id, time and data. */
export async function* pendingEvents(
  dir: string,
  segments: readonly SegmentReport[],
): AsyncGenerator<{ readonly id: string; readonly storedAt: number; readonly data: unknown }> {
  for (const segment of segments) {
    const found: StoredEvent[] = []
    await readThrough(dir, segment, segment.shippedBytes, (event) => void found.push(event))
    for (const event of found) {
      const { producer, seq, timeMs } = event
      yield { id: eventId(producer, seq), storedAt: timeMs, data: JSON.parse(payloadOf(event).toString()) as unknown }
    }
  }
}
