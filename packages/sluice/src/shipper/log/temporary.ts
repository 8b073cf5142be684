import { join } from 'node:path'
import { type FileSystem, quietly } from '../files/file-system.ts'

const oldMs = 60_000

/** Removes temporary files that a process left behind when it was killed. */
export async function removeTemporary(fs: FileSystem, dir: string, nowMs: number): Promise<void> {
  for (const file of await fs.list(dir)) {
    if (!file.endsWith('.tmp')) continue
    const status = await fs.status(join(dir, file)).catch(() => undefined)
    if (status !== undefined && Math.abs(nowMs - status.modifiedMs) > oldMs) await quietly(fs.remove(join(dir, file)))
  }
}
