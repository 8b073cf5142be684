import { join } from 'node:path'
import { codeOf, type FileSystem, quietly } from '../files/file-system.ts'
import { nodeFiles } from '../files/node-files.ts'
import { rejectedFiles } from './rejected-file.ts'

/** An event that was set aside, as it is kept in `rejected-*.ndjson`. */
export interface RejectedEvent {
  readonly id: string
  /** When it was stored, and when it was refused, in milliseconds since the epoch. */
  readonly storedAt: number
  readonly rejectedAt: number
  readonly reason: string
  readonly data: unknown
}

/** One line of such a file. */
export interface RejectedLine {
  readonly bytes: Buffer
  /** Undefined for a line that a crash has cut off. */
  readonly event: RejectedEvent | undefined
}

const chunkBytes = 1 << 20
const newline = 10

/** The lines of a file, one after the other: it may be larger than the memory. A file that is not there has none. */
export async function* rejectedLines(fs: FileSystem, path: string): AsyncGenerator<RejectedLine> {
  const file = await fs.open(path, 'read').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (file === undefined) return
  try {
    let begun: Buffer[] = []
    for (let at = 0; ; at += chunkBytes) {
      const space = Buffer.allocUnsafe(chunkBytes)
      const chunk = space.subarray(0, await file.read(space, at))
      let from = 0
      for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
        yield* lineOf([...begun, chunk.subarray(from, end)])
        begun = []
        from = end + 1
      }
      begun.push(chunk.subarray(from))
      if (chunk.length < chunkBytes) break
    }
    yield* lineOf(begun)
  } finally {
    await quietly(file.close())
  }
}

/** Lines without anything, or with the zeros of a crash, are left out. */
function lineOf(parts: readonly Buffer[]): RejectedLine[] {
  const bytes = Buffer.concat(parts)
  return bytes.some((byte) => byte > 0x20) ? [{ bytes, event: parse(bytes) }] : []
}

function parse(bytes: Buffer): RejectedEvent | undefined {
  try {
    const event = JSON.parse(bytes.toString()) as RejectedEvent
    return typeof event === 'object' && event !== null && typeof event.id === 'string' ? event : undefined
  } catch {
    return undefined
  }
}

/**
 * The events that were set aside, one after the other and each once, about oldest first. Only their ids are kept in
 * memory.
 *
 * @example
 * for await (const { id, reason } of readRejected('buffer')) console.log(id, reason)
 */
export async function* readRejected(
  dir: string,
  { fs = nodeFiles }: { readonly fs?: FileSystem } = {},
): AsyncGenerator<RejectedEvent> {
  const seen = new Set<string>()
  for (const file of rejectedFiles(await fs.list(dir))) {
    // A file that is gone was taken over in the meantime; the rest of it has another name.
    for await (const { event } of rejectedLines(fs, join(dir, file))) {
      if (event === undefined || seen.has(event.id)) continue
      seen.add(event.id)
      yield event
    }
  }
}
