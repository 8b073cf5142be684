import { join } from 'node:path'
import { codeOf, type FileSystem } from '../files/file-system.ts'
import { livenessOf, type ProcessIdentity } from '../owner/process-identity.ts'
import { readHeader } from './segment/segment.ts'
import { openFileOf, type SegmentName, sealedFileOf } from './segment/segment-name.ts'

export interface AdoptOptions {
  readonly fs: FileSystem
  readonly dir: string
  readonly identity: ProcessIdentity
  /** A segment of a process that cannot be inspected is taken over when it was not changed for this long. */
  readonly abandonedAfterMs: number
  readonly nowMs: () => number
  /** Whether this process is still the owner; checked before anything is renamed, removed or recorded. */
  readonly isOwner: () => boolean
}

/**
 * Takes over an open segment whose writer is gone; false if it is not gone. Renaming the file also stops a writer that
 * was only suspended: it checks the name before it confirms anything (see `Writer`), so a wrong guess costs at most
 * duplicates.
 */
export async function adopt(options: AdoptOptions, segment: SegmentName, isLatest: boolean): Promise<boolean> {
  const { fs, dir, isOwner } = options
  const path = join(dir, openFileOf(segment.name))
  // A writer that has begun another segment never returns to this one.
  if (isLatest && !(await isAbandoned(options, path))) return false
  if (!isOwner()) return false
  try {
    await fs.rename(path, join(dir, sealedFileOf(segment.name)))
    await fs.syncDir(dir)
  } catch (error) {
    // On a read-only file system no process can append either: the segment is read unchanged.
    if (codeOf(error) !== 'EROFS') throw error
  }
  return true
}

async function isAbandoned({ fs, identity, abandonedAfterMs, nowMs }: AdoptOptions, path: string): Promise<boolean> {
  const header = await readHeader(fs, path)
  const liveness = header === undefined ? 'unknown' : livenessOf(header.writer, identity)
  if (liveness !== 'unknown') return liveness === 'dead'
  const status = await fs.status(path)
  return status !== undefined && Math.abs(nowMs() - status.modifiedMs) >= abandonedAfterMs
}
