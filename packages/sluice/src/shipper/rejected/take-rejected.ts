import { join } from 'node:path'
import { type FileSystem, quietly, writeAll } from '../files/file-system.ts'
import { nodeFiles } from '../files/node-files.ts'
import { rejectedFiles, takenFileOf } from './rejected-file.ts'
import { type RejectedEvent, type RejectedLine, rejectedLines } from './rejected-lines.ts'

/** Which events are complete, and new reasons for others, by id. */
export interface Handled {
  readonly done: ReadonlySet<string>
  readonly reasons: ReadonlyMap<string, string>
}

/** Events are passed on in groups of about this size, because a file may be larger than the memory. */
const groupBytes = 4 << 20
const newline = Buffer.from('\n')

/**
 * Goes through all rejected events: `handle` gets a group of those of one file and returns what became of them. Works
 * while a shipper appends to the directory: each file is taken over by renaming it, which a shipper notices before it
 * relies on it. After a crash at any moment every event is still in some file.
 */
export async function takeRejected(
  fs: FileSystem,
  dir: string,
  handle: (events: readonly RejectedEvent[]) => Promise<Handled>,
): Promise<void> {
  for (const file of rejectedFiles(await fs.list(dir))) {
    const taken = join(dir, takenFileOf(file))
    await fs.rename(join(dir, file), taken)
    await fs.syncDir(dir)
    const done = new Set<string>()
    const reasons = new Map<string, string>()
    let kept = 0
    for await (const { events, unreadable } of groupsOf(rejectedLines(fs, taken))) {
      const handled = await handle(events)
      for (const id of handled.done) done.add(id)
      for (const [id, reason] of handled.reasons) reasons.set(id, reason)
      kept += unreadable + events.filter(({ id }) => !done.has(id)).length
    }
    // None of its events is complete: the file stays as it is.
    if (done.size === 0 && reasons.size === 0 && kept > 0) continue
    if (kept > 0) await keepRest(fs, dir, takenFileOf(file), rest(rejectedLines(fs, taken), { done, reasons }))
    await fs.remove(taken)
    await fs.syncDir(dir)
  }
}

interface Group {
  events: RejectedEvent[]
  /** Lines without an event. */
  unreadable: number
}

/** Each event once. */
async function* groupsOf(lines: AsyncIterable<RejectedLine>): AsyncGenerator<Group> {
  const seen = new Set<string>()
  let [group, bytes]: [Group, number] = [{ events: [], unreadable: 0 }, 0]
  for await (const line of lines) {
    if (line.event === undefined) group.unreadable++
    else if (!seen.has(line.event.id)) group.events.push(line.event)
    seen.add(line.event?.id ?? '')
    bytes += line.bytes.length
    if (bytes < groupBytes) continue
    yield group
    ;[group, bytes] = [{ events: [], unreadable: 0 }, 0]
  }
  yield group
}

/** The lines of a file without those that are complete, with the new reasons. */
async function* rest(lines: AsyncIterable<RejectedLine>, { done, reasons }: Handled): AsyncGenerator<Buffer> {
  const seen = new Set(done)
  for await (const { bytes, event } of lines) {
    if (event !== undefined && seen.has(event.id)) continue
    const reason = event && reasons.get(event.id)
    if (event !== undefined) seen.add(event.id)
    yield reason === undefined ? bytes : Buffer.from(JSON.stringify({ ...event, reason }))
  }
}

/** Lines of about a megabyte together: a write for each would be slow. */
async function* joined(lines: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [parts, bytes]: [Buffer[], number] = [[], 0]
  for await (const line of lines) {
    parts.push(line, newline)
    bytes += line.length
    if (bytes < 1 << 20) continue
    yield Buffer.concat(parts)
    ;[parts, bytes] = [[], 0]
  }
  if (parts.length > 0) yield Buffer.concat(parts)
}

/** The new file is durable before the old one is removed. */
async function keepRest(fs: FileSystem, dir: string, name: string, lines: AsyncIterable<Buffer>): Promise<void> {
  const temporary = join(dir, `${name}.tmp`)
  try {
    const file = await fs.open(temporary, 'create')
    try {
      let size = 0
      for await (const text of joined(lines)) size = await writeAll(file, [text], size)
      await file.datasync()
    } finally {
      await quietly(file.close())
    }
    await fs.rename(temporary, join(dir, name))
  } catch (error) {
    await quietly(fs.remove(temporary))
    throw error
  }
  await fs.syncDir(dir)
}

/** Removes the rejected events that `choose` selects, permanently; returns how many. */
export async function dropRejected(
  dir: string,
  choose: (event: RejectedEvent) => boolean,
  { fs = nodeFiles }: { readonly fs?: FileSystem } = {},
): Promise<number> {
  const dropped = new Set<string>()
  await takeRejected(fs, dir, async (events) => {
    const done = new Set(events.filter(choose).map(({ id }) => id))
    for (const id of done) dropped.add(id)
    return { done, reasons: new Map() }
  })
  return dropped.size
}
