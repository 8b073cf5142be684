import fs from 'node:fs'
import { dirname, resolve } from 'node:path'
import { codeOf, type FileSystem, type OpenFile, type OpenMode } from './file-system.ts'

const { O_CREAT, O_EXCL, O_RDWR, O_DSYNC } = fs.constants
/**
 * Elsewhere the flag does not reach the disk itself: on macOS only `fdatasync` of Node does, and Windows has no such
 * flag.
 */
const hasDsync = process.platform === 'linux' && O_DSYNC !== undefined

const flags: Readonly<Record<OpenMode, string | number>> = {
  read: 'r',
  create: 'wx+',
  'create-durable': hasDsync ? O_CREAT | O_EXCL | O_RDWR | O_DSYNC : 'wx+',
  update: 'r+',
}

/** Calls a callback function of `node:fs`. Measured, `fs.promises` costs several microseconds more per call. */
function call<T>(start: (done: (error: Error | null, value?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    start((error, value) => (error === null || error === undefined ? resolve(value as T) : reject(error)))
  })
}

function openFile(fd: number, syncsWrites: boolean): OpenFile {
  const write = (chunks: readonly Uint8Array[], position: number): Promise<number> =>
    chunks.length === 1
      ? call<number>((done) => fs.write(fd, chunks[0]!, 0, chunks[0]!.length, position, done))
      : call<number>((done) => fs.writev(fd, chunks, position, done))
  const datasync = (): Promise<void> => call<void>((done) => fs.fdatasync(fd, done))
  return {
    async read(into, position) {
      let total = 0
      while (total < into.length) {
        const got = await call<number>((done) => fs.read(fd, into, total, into.length - total, position + total, done))
        if (got === 0) break
        total += got
      }
      return total
    },
    write: syncsWrites ? (chunks, position) => write(chunks, position).then((n) => datasync().then(() => n)) : write,
    datasync,
    truncate: (length) => call<void>((done) => fs.ftruncate(fd, length, done)),
    size: async () => (await call<fs.Stats>((done) => fs.fstat(fd, done))).size,
    close: () => call<void>((done) => fs.close(fd, done)),
  }
}

/**
 * From the top down, each synced before the next: so if a directory exists, those above it are durable. Its own name is
 * synced even if it existed, because the process that made it may have been killed before it synced.
 */
async function makeDir(dir: string): Promise<void> {
  await makeDirBelow(dir, true)
}

async function makeDirBelow(dir: string, mayMakeParent: boolean): Promise<void> {
  try {
    await call<void>((done) => fs.mkdir(dir, { mode: 0o700 }, done))
  } catch (error) {
    const parent = dirname(resolve(dir))
    // Some file systems (/proc) report ENOENT although the parent exists: trying again would never end.
    if (codeOf(error) === 'ENOENT' && parent !== dir && mayMakeParent) {
      await makeDir(parent)
      return makeDirBelow(dir, false)
    }
    if (!(await isDirectory(dir))) throw error
  }
  await nodeFiles.syncDir(dirname(resolve(dir))).catch((error: unknown) => {
    // A process may have access to a directory without permission to read its parent.
    if (codeOf(error) !== 'EACCES' && codeOf(error) !== 'EPERM') throw error
  })
}

async function isDirectory(path: string): Promise<boolean> {
  return await fs.promises.stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
}

/** The real file system. */
export const nodeFiles: FileSystem = {
  async open(path, mode) {
    const fd = await call<number>((done) => fs.open(path, flags[mode], 0o600, done))
    return openFile(fd, mode === 'create-durable' && !hasDsync)
  },
  list: (dir) => call<string[]>((done) => fs.readdir(dir, done)),
  async status(path) {
    try {
      const { size, mtimeMs } = await call<fs.Stats>((done) => fs.stat(path, done))
      return { size, modifiedMs: mtimeMs }
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined
      throw error
    }
  },
  exists: (path) => fs.existsSync(path),
  rename: (from, to) => call<void>((done) => fs.rename(from, to, done)),
  link: (from, to) => call<void>((done) => fs.link(from, to, done)),
  remove: (path) => call<void>((done) => fs.unlink(path, done)),
  makeDir,
  async syncDir(dir) {
    let fd: number
    try {
      fd = await call<number>((done) => fs.open(dir, 'r', done))
    } catch (error) {
      // Windows cannot open a directory, and needs no sync of one.
      if (['EISDIR', 'EPERM', 'EACCES'].includes(codeOf(error)) && process.platform === 'win32') return
      throw error
    }
    try {
      await call<void>((done) => fs.fsync(fd, done))
    } finally {
      fs.close(fd)
    }
  },
  async space(dir) {
    const { bavail, blocks, bsize } = await fs.promises.statfs(dir)
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  },
}
