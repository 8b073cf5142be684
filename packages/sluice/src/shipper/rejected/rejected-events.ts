import { join } from 'node:path'
import type { FileSystem } from '../files/file-system.ts'
import { nodeFiles } from '../files/node-files.ts'
import { readWhole } from '../files/whole-file.ts'
import { rejectedFiles } from './rejected-names.ts'

/** An event that the server refused permanently, as it is kept in `rejected-*.ndjson`. */
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
  readonly text: string
  /** Undefined for a line that a crash has cut off. */
  readonly event: RejectedEvent | undefined
}

export async function readRejectedFile(fs: FileSystem, path: string): Promise<RejectedLine[]> {
  const bytes = (await readWhole(fs, path, Number.MAX_SAFE_INTEGER)) ?? Buffer.alloc(0)
  const lines = bytes.toString().split('\n')
  return lines.filter((text) => text.replaceAll('\0', '').trim() !== '').map((text) => ({ text, event: parse(text) }))
}

/** The events that the server refused permanently, oldest first, each once. */
export async function rejectedEvents(
  dir: string,
  { fs = nodeFiles }: { readonly fs?: FileSystem } = {},
): Promise<RejectedEvent[]> {
  const events = new Map<string, RejectedEvent>()
  for (const file of rejectedFiles(await fs.list(dir))) {
    // A file that is gone was taken over in the meantime; the rest of it has another name.
    for (const { event } of await readRejectedFile(fs, join(dir, file))) {
      if (event !== undefined) events.set(event.id, event)
    }
  }
  return [...events.values()].sort((a, b) => a.rejectedAt - b.rejectedAt)
}

function parse(text: string): RejectedEvent | undefined {
  try {
    const event = JSON.parse(text) as RejectedEvent
    return typeof event === 'object' && event !== null && typeof event.id === 'string' ? event : undefined
  } catch {
    return undefined
  }
}
