import { join } from 'node:path'
import type { FileSystem } from '../../files/file-system.ts'
import { createWhole } from '../../files/file-system.ts'
import type { Damage } from './segment-reader.ts'

/** The most damaged bytes that are kept for inspection; a failing disk must not fill up with them. */
const maxDamagedBytes = 64 << 20

/** Keeps the bytes of a damaged part of a segment in `damaged/`; undefined if there is no room for them. */
export async function keepDamaged(fs: FileSystem, dir: string, damage: Damage): Promise<string | undefined> {
  const folder = join(dir, 'damaged')
  const name = `${damage.segment}-${damage.offset}.bin`
  const path = join(folder, name)
  try {
    await fs.makeDir(folder)
    const present = (await fs.status(path))?.size
    if (present === damage.bytes.length) return join('damaged', name)
    // A crash has truncated it.
    if (present !== undefined) await fs.remove(path)
    let kept = 0
    for (const file of await fs.list(folder)) kept += (await fs.status(join(folder, file)))?.size ?? 0
    if (kept + damage.bytes.length > maxDamagedBytes) return undefined
    await createWhole(fs, path, damage.bytes)
    await fs.syncDir(folder)
    return join('damaged', name)
  } catch {
    return undefined
  }
}
