import type { OpenFile } from './file-system.ts'

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
