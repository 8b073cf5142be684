import { join } from 'node:path'
import type { FileSystem } from '../files/file-system.ts'
import { nodeFiles } from '../files/node-files.ts'
import { type RejectedEvent, rejectedLines } from './rejected-lines.ts'
import { rejectedFiles } from './rejected-names.ts'

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
