import { dirname, join } from 'node:path'
import { SluiceError } from '../../core/errors.ts'

/** An open file. Positions are always passed in, so that nothing depends on where an earlier call ended. */
export interface OpenFile {
  /** Reads up to `into.length` bytes; fewer only at the end of the file. */
  read(into: Uint8Array, position: number): Promise<number>
  /** One write; returns how many bytes were written, which may be fewer than given. See `writeAll`. */
  write(chunks: readonly Uint8Array[], position: number): Promise<number>
  /** Makes contents and length survive a power cut. */
  datasync(): Promise<void>
  truncate(length: number): Promise<void>
  size(): Promise<number>
  close(): Promise<void>
}

export interface FileStatus {
  readonly size: number
  readonly modifiedMs: number
}

/**
 * `create` fails if the file is there; `update` and `read` fail if it is not. In a file opened with `create-durable`
 * every write is durable when it resolves, as if `datasync` came with it, in one call instead of two.
 */
export type OpenMode = 'read' | 'create' | 'create-durable' | 'update'

/**
 * The file operations of the shipper, and no others. They are a port so that tests can run them on a file system that
 * loses what was not synced, runs out of space, or fails at a chosen step.
 */
export interface FileSystem {
  open(path: string, mode: OpenMode): Promise<OpenFile>
  list(dir: string): Promise<string[]>
  status(path: string): Promise<FileStatus | undefined>
  /** Synchronous: it is called after every commit, and a call to the thread pool would cost ten times as much. */
  exists(path: string): boolean
  rename(from: string, to: string): Promise<void>
  /** Gives a file a second name; fails with EEXIST if that name is taken. */
  link(from: string, to: string): Promise<void>
  remove(path: string): Promise<void>
  /** Creates a directory, and those above it, unless they are there; durable when it resolves. */
  makeDir(dir: string): Promise<void>
  /** Makes created, renamed and removed names of a directory survive a power cut. */
  syncDir(dir: string): Promise<void>
  space(dir: string): Promise<{ readonly freeBytes: number; readonly totalBytes: number }>
}

/** The code of a system error, such as `ENOSPC`. */
export function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code ?? '')
}

/** Whether an error means that the disk, the quota or the file size limit is used up. */
export function isNoSpace(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(codeOf(error))
}

/** Runs a step and ignores its failure, where the failure changes nothing. */
export async function quietly(step: Promise<unknown>): Promise<void> {
  await step.catch(() => {})
}

/**
 * Writes all chunks one after the other. A write may stop early without an error (measured: 1024 of 4096 bytes, and
 * ENOSPC only on the next call), so this continues from where it stopped.
 */
export async function writeAll(file: OpenFile, chunks: readonly Uint8Array[], position: number): Promise<number> {
  let rest = chunks
  let at = position
  while (rest.length > 0) {
    const written = await file.write(rest, at)
    if (written <= 0) throw Object.assign(new Error('the file system wrote nothing'), { code: 'EIO' })
    at += written
    rest = after(rest, written)
  }
  return at
}

/** What is left of the chunks after so many bytes. */
function after(chunks: readonly Uint8Array[], bytes: number): readonly Uint8Array[] {
  let skip = bytes
  for (const [i, chunk] of chunks.entries()) {
    if (skip < chunk.length) return [chunk.subarray(skip), ...chunks.slice(i + 1)]
    skip -= chunk.length
  }
  return []
}

/** The contents of a small file, undefined if it is not there. */
export async function readWhole(fs: FileSystem, path: string, maxBytes: number = 1 << 20): Promise<Buffer | undefined> {
  let file: Awaited<ReturnType<FileSystem['open']>>
  try {
    file = await fs.open(path, 'read')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    const bytes = Buffer.alloc(Math.min(await file.size(), maxBytes))
    return bytes.subarray(0, await file.read(bytes, 0))
  } finally {
    await quietly(file.close())
  }
}

/** Creates a file with these contents, synced; its name is not until the directory is. */
export async function createWhole(fs: FileSystem, path: string, contents: Uint8Array): Promise<void> {
  const file = await fs.open(path, 'create')
  try {
    await writeAll(file, [contents], 0)
    await file.datasync()
  } finally {
    await quietly(file.close())
  }
}

/**
 * Replaces a file: after a crash at any moment it has either the old contents or the new, never a mixture. `temporary`
 * must be a name that no other process uses.
 */
export async function replaceWhole(
  fs: FileSystem,
  path: string,
  temporary: string,
  contents: Uint8Array,
): Promise<void> {
  try {
    await createWhole(fs, temporary, contents)
    await fs.rename(temporary, path)
  } catch (error) {
    await quietly(fs.remove(temporary))
    throw error
  }
  await fs.syncDir(dirname(path))
}

/** Makes the directory of a buffer; if that fails, the error names the directory and the reason. */
export async function makeBufferDir(fs: Pick<FileSystem, 'makeDir'>, dir: string): Promise<void> {
  await fs.makeDir(dir).catch((cause: unknown) => {
    const { message } = cause as Error
    throw new SluiceError('SLUICE_BUFFER_FAILED', `the directory ${dir} of the buffer cannot be made: ${message}`, {
      cause,
      transient: true,
    })
  })
}

const oldMs = 60_000

/** Removes temporary files that a process left behind when it was killed. */
export async function removeTemporary(fs: FileSystem, dir: string, nowMs: number): Promise<void> {
  for (const file of await fs.list(dir)) {
    if (!file.endsWith('.tmp')) continue
    const status = await fs.status(join(dir, file)).catch(() => undefined)
    if (status !== undefined && Math.abs(nowMs - status.modifiedMs) > oldMs) await quietly(fs.remove(join(dir, file)))
  }
}
