import { join } from 'node:path'
import { checkOptionNames } from '../../core/check-options.ts'
import { type Duration, parseDuration } from '../../core/duration.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import { codeOf, type FileSystem, readWhole } from '../files/file-system.ts'
import { nodeFiles } from '../files/node-files.ts'
import { type Checkpoint, readCheckpoint } from '../log/checkpoint.ts'
import { recordHeaderBytes, timeAt } from '../log/segment/record.ts'
import { measureSegment } from '../log/segment/segment.ts'
import { segmentHeaderBytes } from '../log/segment/segment-header.ts'
import { parseSegmentName, type SegmentName } from '../log/segment/segment-name.ts'
import { highestEpoch, isStale, type LockRecord, ownerFileOf, parseLock } from '../owner/owner-lock.ts'
import { thisProcess, uptimeMs } from '../owner/process-identity.ts'
import { rejectedFiles } from '../rejected/rejected-file.ts'

/** One segment as the command line shows it. */
export interface SegmentReport extends SegmentName {
  readonly file: string
  readonly isOpen: boolean
  readonly bytes: number
  readonly firstSeq: number
  readonly nextSeq: number
  /** Events in it that are not shipped yet. */
  readonly pending: number
  readonly shippedBytes: number
}

export interface OwnerReport extends LockRecord {
  readonly epoch: number
  /** Whether it still ships; false if it ended, released the lock, or let it expire. */
  readonly isActive: boolean
}

/** What is in a directory. */
export interface BufferReport {
  readonly segments: readonly SegmentReport[]
  readonly pending: number
  readonly bytes: number
  /** When the oldest pending event was stored. */
  readonly oldestMs: number | null
  readonly owner: OwnerReport | null
  /** Names of the files with events that the server refused permanently. */
  readonly rejectedFiles: readonly string[]
  /** Names of segments that cannot be read at present; what is in them is not counted. */
  readonly unreadableFiles: readonly string[]
  readonly checkpoint: Checkpoint
}

/**
 * Reads a buffer without changing anything, also while a shipper works on it. `ownerTimeout` is that of the shipper.
 */
export async function inspectBuffer(
  dir: string,
  options: { readonly fs?: FileSystem; readonly ownerTimeout?: Duration } = {},
): Promise<BufferReport> {
  checkOptionNames('inspectBuffer', options, ['fs', 'ownerTimeout'])
  const { fs = nodeFiles, ownerTimeout = '15s' } = options
  const leaseMs = parseDuration(ownerTimeout, 'inspectBuffer.ownerTimeout')
  const files = (await fs.list(dir)).sort()
  const checkpoint = await readCheckpoint(fs, dir, files)
  const segments: SegmentReport[] = []
  const unreadableFiles: string[] = []
  for (const file of files) {
    const parsed = parseSegmentName(file)
    if (parsed === undefined) continue
    // A segment may be shipped and removed while it is read.
    const measure = await measureSegment(fs, join(dir, file), parsed).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') unreadableFiles.push(file)
    })
    if (measure === undefined) continue
    const { header, size, nextSeq } = measure
    const firstSeq = header?.firstSeq ?? 1
    const shipped = checkpoint.positions[parsed.name]
    const pending = Math.max(0, nextSeq - (shipped?.seq ?? firstSeq))
    segments.push({ ...parsed, file, bytes: size, firstSeq, nextSeq, pending, shippedBytes: shipped?.offset ?? 0 })
  }
  const oldest = segments.find(({ pending }) => pending > 0)
  return {
    segments,
    pending: segments.reduce((sum, { pending }) => sum + pending, 0),
    bytes: segments.reduce((sum, { bytes }) => sum + bytes, 0),
    oldestMs: oldest === undefined ? null : await firstTime(fs, dir, oldest),
    owner: await ownerOf(fs, dir, files, leaseMs),
    rejectedFiles: rejectedFiles(files),
    unreadableFiles,
    checkpoint,
  }
}

/** The time of the first event that was not shipped; that of the segment if it cannot be read. */
async function firstTime(fs: FileSystem, dir: string, segment: SegmentReport): Promise<number> {
  const head = Buffer.alloc(recordHeaderBytes)
  try {
    const file = await fs.open(join(dir, segment.file), 'read')
    const got = await file.read(head, Math.max(segment.shippedBytes, segmentHeaderBytes)).finally(() => file.close())
    return got === head.length ? timeAt(head, 0) : segment.createdMs
  } catch {
    return segment.createdMs
  }
}

async function ownerOf(
  fs: FileSystem,
  dir: string,
  files: readonly string[],
  leaseMs: number,
): Promise<OwnerReport | null> {
  const epoch = highestEpoch(files)
  const path = join(dir, ownerFileOf(epoch))
  const status = await fs.status(path).catch(() => undefined)
  const lock = parseLock(await readWhole(fs, path).catch(() => undefined), status?.modifiedMs ?? 0)
  if (lock === undefined) return null
  const stale = isStale(lock, thisProcess(), { nowMs: systemClock().now() / 1000, uptimeMs: uptimeMs(), leaseMs })
  return { ...lock, epoch, isActive: !stale }
}
