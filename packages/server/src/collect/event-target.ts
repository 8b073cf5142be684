import { type FileHandle, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { IncomingEvent } from 'sluice/capacity'
import { postBatch, resultsById, systemClock } from 'sluice/internal'

/** Where a collector puts the events that it accepts. */
export interface EventTarget {
  /** For display: `file events.ndjson`. */
  readonly description: string
  /** Resolves when the events are stored, except those it refuses permanently; rejects when all must be sent again. */
  accept(events: readonly IncomingEvent[]): Promise<{ readonly rejected: ReadonlyMap<string, string> }>
  /** How long a batch waits before it is written. */
  waitingMs(): number
  close(): Promise<void>
}

const timeoutMs = 30_000

/**
 * Posts events to another server, in the form in which they came, and follows its answer as a shipper does: any 2xx
 * accepts all, unless `results` states otherwise for some.
 */
export function httpTarget(url: string): EventTarget {
  const { origin, pathname } = new URL(url)
  const options = { headers: () => ({}), timeoutMs, clock: systemClock() }
  return {
    // Without user, password and query: the description is logged.
    description: `${origin}${pathname}`,
    async accept(events) {
      const body = Buffer.from(JSON.stringify({ events }))
      const answer = await postBatch(url, body, options, new AbortController().signal)
      const isRefusal = answer.kind === 'refused' || answer.kind === 'too-large'
      if (answer.kind !== 'accepted') {
        // With a status the shipper looks for the event at fault; without one it sends all of them again.
        const status = { status: answer.kind === 'too-large' ? 413 : 400 }
        throw Object.assign(new Error(`${origin}: ${answer.reason}`), isRefusal ? status : {})
      }
      if (answer.results === undefined) return { rejected: new Map() }
      const results = resultsById(answer.results)
      const rejected = new Map<string, string>()
      for (const { id } of events) {
        const { status = 'retry', reason } = results.get(id) ?? {}
        // Nothing of the batch is acknowledged then; the server recognises what it already has by its id.
        if (status === 'retry') throw new Error(`${origin} wants ${id} again`)
        if (status === 'rejected') rejected.set(id, reason ?? `rejected by ${origin}`)
      }
      return { rejected }
    },
    waitingMs: () => 0,
    async close() {},
  }
}

/** The most that may wait for a disk that hangs; batches beyond it must be sent again. */
const maxWaitingBytes = 64 << 20

/** Appends events to a file, one JSON line each; they are on disk when `accept` resolves. */
export async function fileTarget(path: string): Promise<EventTarget> {
  const file = await open(path, 'a+')
  await endLine(file)
  await syncDirectory(dirname(path))
  let last: Promise<unknown> = Promise.resolve()
  let waitingBytes = 0
  /** The arrival times of batches whose write has not begun. */
  const waitingSince = new Set<number>()
  return {
    description: `file ${path}`,
    async accept(events) {
      const { text, rejected } = toLines(events)
      if (waitingBytes + text.length > maxWaitingBytes) throw new Error(`too much waits for ${path}`)
      waitingBytes += text.length
      const cameMs = performance.now()
      waitingSince.add(cameMs)
      // One after the other: lines of two batches must not mix, and a failed write must not be followed by half a line.
      const written = last
        .catch(() => {})
        .then(() => {
          waitingSince.delete(cameMs)
          return append(file, text)
        })
      last = written
      await written.finally(() => {
        waitingBytes -= text.length
      })
      return { rejected }
    },
    waitingMs() {
      const [oldest] = waitingSince
      return oldest === undefined ? 0 : performance.now() - oldest
    },
    async close() {
      await last.catch(() => {})
      await file.close()
    },
  }
}

/** An event that cannot be written, such as one nested too deeply, is refused; it must not block the others. */
function toLines(events: readonly IncomingEvent[]): { text: string; rejected: Map<string, string> } {
  const rejected = new Map<string, string>()
  const lines = events.map(({ id, data }) => {
    try {
      return `${JSON.stringify({ id, data })}\n`
    } catch (error) {
      rejected.set(id, `it cannot be written as JSON: ${(error as Error).message}`)
      return ''
    }
  })
  return { text: lines.join(''), rejected }
}

async function append(file: FileHandle, text: string): Promise<void> {
  const { size } = await file.stat()
  try {
    await file.appendFile(text)
    await file.datasync()
  } catch (error) {
    // What was written of the batch is removed, as the shipper will send all of it again.
    await file.truncate(size).catch(() => endLine(file).catch(() => {}))
    throw error
  }
}

/**
 * A process that was killed may have left half a line, of an event that was not acknowledged. A line appended to it
 * would be unreadable too.
 */
async function endLine(file: FileHandle): Promise<void> {
  const stats = await file.stat()
  if (!stats.isFile() || stats.size === 0) return
  const end = Buffer.alloc(1)
  await file.read(end, 0, 1, stats.size - 1)
  if (end.toString() !== '\n') await file.appendFile('\n')
}

/** Without this a file that was just made could be missing after a power cut. */
async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory, and needs no sync of one.
  if (process.platform === 'win32') return
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
