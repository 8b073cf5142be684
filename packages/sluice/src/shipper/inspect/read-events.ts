import { join } from 'node:path'
import { type FileSystem, quietly } from '../files/file-system.ts'
import { nodeFiles } from '../files/node-files.ts'
import { eventId } from '../log/segment/segment-name.ts'
import { type Damage, SegmentReader } from '../log/segment/segment-reader.ts'
import { payloadOf, type StoredEvent } from '../log/segment/stored-event.ts'
import type { SegmentReport } from './inspect-buffer.ts'

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
