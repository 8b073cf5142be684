import { dirname } from 'node:path'
import { codeOf, type FileSystem, quietly } from './file-system.ts'
import { writeAll } from './write-all.ts'

/** The contents of a small file, undefined if it is not there. */
export async function readWhole(fs: FileSystem, path: string, maxBytes: number = 1 << 20): Promise<Buffer | undefined> {
  let file: Awaited<ReturnType<FileSystem['open']>>
  try {
    file = await fs.open(path, 'read')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    const bytes = Buffer.alloc(Math.min(await file.size(), maxBytes))
    return bytes.subarray(0, await file.read(bytes, 0))
  } finally {
    await quietly(file.close())
  }
}

/** Creates a file with these contents, synced; its name is not until the directory is. */
export async function createWhole(fs: FileSystem, path: string, contents: Uint8Array): Promise<void> {
  const file = await fs.open(path, 'create')
  try {
    await writeAll(file, [contents], 0)
    await file.datasync()
  } finally {
    await quietly(file.close())
  }
}

/**
 * Replaces a file: after a crash at any moment it has either the old contents or the new, never a mixture. `temporary`
 * must be a name that no other process uses.
 */
export async function replaceWhole(
  fs: FileSystem,
  path: string,
  temporary: string,
  contents: Uint8Array,
): Promise<void> {
  try {
    await createWhole(fs, temporary, contents)
    await fs.rename(temporary, path)
  } catch (error) {
    await quietly(fs.remove(temporary))
    throw error
  }
  await fs.syncDir(dirname(path))
}
