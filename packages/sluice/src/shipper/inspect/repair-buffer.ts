import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { checkOptionNames } from '../../core/check-options.ts'
import { SluiceError } from '../../core/errors.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import { StateFile } from '../backoff/state-file.ts'
import { createWhole, type FileSystem, quietly, removeTemporary } from '../files/file-system.ts'
import { nodeFiles } from '../files/node-files.ts'
import { keepDamaged } from '../log/segment/damaged.ts'
import { markRecord, recordHeaderBytes, saltOf, sealRecord } from '../log/segment/record.ts'
import { encodeHeader } from '../log/segment/segment-header.ts'
import { sealedFileOf, segmentName } from '../log/segment/segment-name.ts'
import { payloadOf, type StoredEvent } from '../log/segment/stored-event.ts'
import { OwnerLock } from '../owner/owner-lock.ts'
import { thisProcess, uptimeMs } from '../owner/process-identity.ts'
import type { SegmentReport } from './inspect-buffer.ts'
import { readThrough, verifyBuffer } from './verify-buffer.ts'

export interface RepairReport {
  /** Segments that were rewritten. */
  readonly repaired: readonly string[]
  /** Good events in them that are still pending. */
  readonly kept: number
  readonly lost: number
  /** Where the damaged bytes are. */
  readonly saved: readonly string[]
  readonly stateReset: boolean
}

/**
 * Rewrites damaged segments with the records that are good, and keeps the damaged bytes in `damaged/`. A shipper does
 * the same when it reaches them, so this is only needed to see the result now. Fails while another process owns the
 * buffer.
 */
export async function repairBuffer(dir: string, options: { readonly fs?: FileSystem } = {}): Promise<RepairReport> {
  checkOptionNames('repairBuffer', options, ['fs'])
  const { fs = nodeFiles } = options
  const clock = systemClock()
  const lock = new OwnerLock({ fs, dir, clock, leaseMs: 15_000, identity: thisProcess(), uptimeMs })
  if (!(await lock.acquire())) {
    throw new SluiceError('SLUICE_WRONG_USE', 'a running shipper owns this buffer; stop it first', { transient: true })
  }
  try {
    await removeTemporary(fs, dir, clock.now() / 1000)
    let stateReset = false
    await new StateFile(fs, dir, () => {
      stateReset = true
    }).load()
    const { buffer, damage } = await verifyBuffer(dir, { fs })
    const damaged = buffer.segments.filter(({ file, isOpen }) => !isOpen && damage.some((each) => each.file === file))
    const saved: string[] = []
    let [kept, lost] = [0, 0]
    for (const segment of damaged) {
      const result = await rewrite(fs, dir, segment)
      kept += result.kept
      lost += result.lost
      saved.push(...result.saved)
    }
    return { repaired: damaged.map(({ file }) => file), kept, lost, saved, stateReset }
  } finally {
    await lock.release()
  }
}

/**
 * The new segment gets its own name, a millisecond later than the old one but before the next of the same producer: the
 * checkpoint has an offset in the old file, which would be wrong in the new one. After a crash in between both files
 * exist, and the repeated numbers are skipped.
 */
async function rewrite(
  fs: FileSystem,
  dir: string,
  segment: SegmentReport,
): Promise<{ kept: number; lost: number; saved: string[] }> {
  const events: StoredEvent[] = []
  const found = await readThrough(dir, segment, segment.shippedBytes, (event) => void events.push(event), fs)
  const saved: string[] = []
  for (const damage of found.damage) {
    const savedAs = await keepDamaged(fs, dir, { ...damage, segment: segment.name })
    if (savedAs !== undefined) saved.push(savedAs)
  }
  if (events.length > 0) await writeAnew(fs, dir, segment, events)
  await fs.remove(join(dir, segment.file))
  await fs.syncDir(dir)
  return { kept: events.length, lost: found.lost, saved }
}

async function writeAnew(
  fs: FileSystem,
  dir: string,
  { producer, number, createdMs }: SegmentReport,
  events: readonly StoredEvent[],
): Promise<void> {
  const salt = saltOf(producer)
  const parts: Buffer[] = []
  let expected = events[0]!.seq
  parts.push(encodeHeader({ producer, number, firstSeq: expected, createdMs: createdMs + 1, writer: thisProcess() }))
  for (const event of events) {
    const { seq, timeMs } = event
    const payload = payloadOf(event)
    // The repair reported the loss; the shipper must not report it again.
    if (seq !== expected) parts.push(markRecord('skip', seq, expected, salt))
    const record = Buffer.alloc(recordHeaderBytes + payload.length)
    payload.copy(record, recordHeaderBytes)
    sealRecord(record, 0, payload.length, seq, timeMs, salt)
    parts.push(record)
    expected = seq + 1
  }
  parts.push(markRecord('foot', expected, events.at(-1)!.timeMs, salt))
  const temporary = join(dir, `repair.${randomBytes(6).toString('hex')}.tmp`)
  try {
    await createWhole(fs, temporary, Buffer.concat(parts))
    await fs.rename(temporary, join(dir, sealedFileOf(segmentName(createdMs + 1, producer, number))))
    await fs.syncDir(dir)
  } catch (error) {
    await quietly(fs.remove(temporary))
    throw error
  }
}
