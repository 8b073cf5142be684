import { type FileHandle, open } from 'node:fs/promises'
import type { IncomingEvent } from 'sluice/capacity'
import type { EventTarget } from './event-target.ts'

/** Appends events to a file, one JSON line each; they are on disk when `accept` resolves. */
export async function fileTarget(path: string): Promise<EventTarget> {
  const file = await open(path, 'a')
  let last: Promise<unknown> = Promise.resolve()
  return {
    description: `file ${path}`,
    accept(events) {
      // One after the other: lines of two batches must not mix, and a failed write must not be followed by half a line.
      const written = last.catch(() => {}).then(() => append(file, events))
      last = written
      return written
    },
    async close() {
      await last.catch(() => {})
      await file.close()
    },
  }
}

async function append(file: FileHandle, events: readonly IncomingEvent[]): Promise<void> {
  const { size } = await file.stat()
  try {
    await file.appendFile(events.map(({ id, data }) => `${JSON.stringify({ id, data })}\n`).join(''))
    await file.datasync()
  } catch (error) {
    // What was written of the batch is taken back, as the shipper will send all of it again.
    await file.truncate(size).catch(() => {})
    throw error
  }
}
