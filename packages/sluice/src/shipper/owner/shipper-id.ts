import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createWhole, type FileSystem, quietly, readWhole } from '../files/file-system.ts'

/** The id by which a server counts the shippers that request capacity: one for each directory, across restarts. */
export async function shipperId(fs: FileSystem, dir: string): Promise<string> {
  const path = join(dir, 'shipper-id')
  const stored = (): Promise<string | undefined> =>
    readWhole(fs, path).then(
      (bytes) => /^[0-9a-f]{24}$/.exec(bytes?.toString().trim() ?? '')?.[0],
      () => undefined,
    )
  const found = await stored()
  if (found !== undefined) return found
  const id = randomBytes(12).toString('hex')
  const temporary = join(dir, `shipper-id.${id}.tmp`)
  try {
    await createWhole(fs, temporary, Buffer.from(`${id}\n`))
    // Damaged or missing: the last rename wins, and an id that changes once more does no harm.
    await fs.rename(temporary, path)
  } catch {
    // The disk is full or read-only: an id that lasts as long as the process is enough.
    await quietly(fs.remove(temporary))
  }
  return (await stored()) ?? id
}
