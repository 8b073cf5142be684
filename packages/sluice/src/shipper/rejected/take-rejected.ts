import { join } from 'node:path'
import { type FileSystem, quietly } from '../files/file-system.ts'
import { createWhole } from '../files/whole-file.ts'
import { type RejectedEvent, readRejectedFile } from './rejected-events.ts'
import { rejectedFiles, takenFileOf } from './rejected-names.ts'

/**
 * Goes through all rejected events: `handle` gets those of one file and returns the ids of those that are complete, and
 * new reasons for others. Works while a shipper appends to the directory: each file is taken over by renaming it, which
 * a shipper notices before it relies on it. After a crash at any moment every event is still in some file.
 */
export async function takeRejected(
  fs: FileSystem,
  dir: string,
  handle: (events: readonly RejectedEvent[]) => Promise<{ done: ReadonlySet<string>; reasons: Map<string, string> }>,
): Promise<void> {
  for (const file of rejectedFiles(await fs.list(dir))) {
    const taken = takenFileOf(file)
    await fs.rename(join(dir, file), join(dir, taken))
    await fs.syncDir(dir)
    const lines = await readRejectedFile(fs, join(dir, taken))
    const events = new Map(lines.flatMap(({ event }) => (event === undefined ? [] : [[event.id, event]])))
    const { done, reasons } = await handle([...events.values()])
    const unreadable = lines.filter(({ event }) => event === undefined).map(({ text }) => text)
    const kept = [...events.values()]
      .filter(({ id }) => !done.has(id))
      .map((event) => JSON.stringify({ ...event, reason: reasons.get(event.id) ?? event.reason }))
    const rest = [...unreadable, ...kept]
    // None of its events is complete: the file stays as it is.
    if (done.size === 0 && reasons.size === 0 && rest.length > 0) continue
    if (rest.length > 0) await replace(fs, dir, takenFileOf(file), `${rest.join('\n')}\n`)
    await fs.remove(join(dir, taken))
    await fs.syncDir(dir)
  }
}

/** The new file is durable before the old one is removed. */
async function replace(fs: FileSystem, dir: string, name: string, text: string): Promise<void> {
  const temporary = join(dir, `${name}.tmp`)
  try {
    await createWhole(fs, temporary, Buffer.from(text))
    await fs.rename(temporary, join(dir, name))
  } catch (error) {
    await quietly(fs.remove(temporary))
    throw error
  }
  await fs.syncDir(dir)
}
