import { type FileHandle, open } from 'node:fs/promises'
import type { PipelineSink } from '../pipeline.ts'

/**
 * Appends records to a file, one line of JSON each; a batch is on disk when it counts as written. For one process at a
 * time, such as for dead letters.
 *
 * @example fileSink('rejected.ndjson')
 */
export function fileSink(path: string): PipelineSink {
  let opening: Promise<FileHandle> | undefined
  // Batches of several partitions are written one after the other, so that their lines do not mix.
  let last: Promise<unknown> = Promise.resolve()
  const append = async (text: string): Promise<void> => {
    opening ??= open(path, 'a')
    const file = await opening.catch((error) => {
      opening = undefined
      throw error
    })
    await file.appendFile(text)
    await file.datasync()
  }
  return {
    write({ records }) {
      const text = records.map(({ value }) => `${JSON.stringify(value) ?? 'null'}\n`).join('')
      const written = last.then(() => append(text))
      last = written.catch(() => undefined)
      return written
    },
    async close() {
      await last
      await (await opening)?.close()
      opening = undefined
    },
  }
}
