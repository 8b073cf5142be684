import type { FileSystem } from '../files/file-system.ts'
import type { RejectedEvent } from '../rejected/rejected-lines.ts'
import { readRejected } from '../rejected/rejected-lines.ts'

/** The events that were set aside, oldest first, each once. */
export async function rejectedEvents(
  dir: string,
  options: { readonly fs?: FileSystem } = {},
): Promise<RejectedEvent[]> {
  const events: RejectedEvent[] = []
  for await (const event of readRejected(dir, options)) events.push(event)
  return events.sort((a, b) => a.rejectedAt - b.rejectedAt)
}
