import { checkOptionNames } from '../../core/check-options.ts'
import type { FileSystem } from '../files/file-system.ts'
import { nodeFiles } from '../files/node-files.ts'
import { type BufferReport, inspectBuffer } from './inspect-buffer.ts'
import { readThrough } from './read-events.ts'

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
