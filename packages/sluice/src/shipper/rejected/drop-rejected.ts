import type { FileSystem } from '../files/file-system.ts'
import { nodeFiles } from '../files/node-files.ts'
import type { RejectedEvent } from './rejected-lines.ts'
import { takeRejected } from './take-rejected.ts'

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
