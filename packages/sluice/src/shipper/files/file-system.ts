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
