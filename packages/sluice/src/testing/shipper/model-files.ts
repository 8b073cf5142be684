import { dirname } from 'node:path'
import type { FileSystem, OpenFile } from '../../shipper/files/file-system.ts'
import { type Inode, ModelInode } from './model-inode.ts'

/** Names of files and directories. */
interface Names {
  readonly files: Map<string, Inode>
  readonly dirs: Set<string>
}

/** A change of a directory that is not synced yet. A rename both removes and adds. */
interface Change {
  readonly dir: string
  readonly removes?: string
  readonly adds?: string
  /** What is added; a directory if there is none. */
  readonly inode?: Inode
}

function apply({ removes, adds, inode }: Change, { files, dirs }: Names): void {
  if (removes !== undefined) files.delete(removes)
  if (adds !== undefined && inode !== undefined) files.set(adds, inode)
  else if (adds !== undefined) dirs.add(adds)
}

/** Names as programs see them, as they are on the disk, and what was done in between. */
interface Disk {
  readonly names: Names
  readonly durable: Names
  changes: Change[]
}

/**
 * What a crash leaves of changes that were not synced.
 *
 * - `drop`: nothing.
 * - `keep`: everything, because only the process died. It is still not synced: a power cut may take it later.
 * - `torn`: any part. Names survive each for itself; contents by the sector, in any order, one of them cut at any byte;
 *   what was appended may read as zeros or as something else that was on the disk.
 */
export type CrashMode = 'drop' | 'keep' | 'torn'
export const crashModes: readonly CrashMode[] = ['drop', 'keep', 'torn']

/** What a fault does to one operation: it fails with this code, or a write stops short after so many bytes. */
export type Fault = { readonly code: string } | { readonly shortTo: number }

export interface ModelFiles extends FileSystem {
  /** How many operations were done so far. */
  readonly steps: number
  /** Runs before each operation; may return a fault. */
  fault: ((operation: string, path: string) => Fault | undefined) | undefined
  /** From this operation on everything fails, as for a process that died; the operation itself is done in part. */
  crashAt: number
  /** The file system as a new process finds it after the crash. */
  afterCrash(mode: CrashMode, random?: () => number): ModelFiles
  /** All files, to damage them. */
  readonly files: ReadonlyMap<string, Inode>
  freeBytes: number
}

function error(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code })
}

/**
 * A file system in memory that forgets what was not synced: contents without `datasync`, names without `syncDir` of
 * their directory. It is meant to be as unkind as POSIX allows; what it does promise is in decision record 8.
 */
export function modelFiles(): ModelFiles {
  const nothing = (): Names => ({ files: new Map(), dirs: new Set() })
  return build({ names: nothing(), durable: nothing(), changes: [] })
}

function build(disk: Disk): ModelFiles {
  const { files: entries, dirs } = disk.names

  const files: ModelFiles = {
    steps: 0,
    fault: undefined,
    crashAt: Number.POSITIVE_INFINITY,
    freeBytes: Number.MAX_SAFE_INTEGER,
    files: entries,
    afterCrash,
    async open(path, mode) {
      await step('open', path)
      const found = entries.get(path)
      if (mode === 'read' || mode === 'update') {
        if (found === undefined) throw error('ENOENT', path)
        return openFile(found, path, false)
      }
      if (found !== undefined) throw error('EEXIST', path)
      if (!dirs.has(dirname(path))) throw error('ENOENT', path)
      const inode = new ModelInode()
      change({ dir: dirname(path), adds: path, inode })
      return openFile(inode, path, mode === 'create-durable')
    },
    async list(dir) {
      await step('list', dir)
      if (!dirs.has(dir)) throw error('ENOENT', dir)
      return [...entries.keys()].filter((path) => dirname(path) === dir).map((path) => path.slice(dir.length + 1))
    },
    async status(path) {
      const inode = entries.get(path)
      return inode === undefined ? undefined : { size: inode.data.length, modifiedMs: inode.modifiedMs }
    },
    exists: (path) => files.steps < files.crashAt && entries.has(path),
    async rename(from, to) {
      await step('rename', from)
      const inode = entries.get(from)
      if (inode === undefined) throw error('ENOENT', from)
      change({ dir: dirname(from), removes: from, adds: to, inode })
    },
    async link(from, to) {
      await step('link', from)
      const inode = entries.get(from)
      if (inode === undefined) throw error('ENOENT', from)
      if (entries.has(to)) throw error('EEXIST', to)
      change({ dir: dirname(to), adds: to, inode })
    },
    async remove(path) {
      await step('remove', path)
      if (!entries.has(path)) throw error('ENOENT', path)
      change({ dir: dirname(path), removes: path })
    },
    async makeDir(dir) {
      await step('makeDir', dir)
      if (!dirs.has(dir)) change({ dir: dirname(dir), adds: dir })
      await files.syncDir(dirname(dir))
    },
    async syncDir(dir) {
      await step('syncDir', dir)
      for (const each of disk.changes) if (each.dir === dir) apply(each, disk.durable)
      disk.changes = disk.changes.filter((each) => each.dir !== dir)
    },
    async space() {
      return { freeBytes: files.freeBytes, totalBytes: Number.MAX_SAFE_INTEGER }
    },
  }

  function change(made: Change): void {
    apply(made, disk.names)
    disk.changes.push(made)
  }

  async function step(operation: string, path: string): Promise<void> {
    await Promise.resolve()
    const { steps } = files
    ;(files as { steps: number }).steps = steps + 1
    if (steps >= files.crashAt) throw error('ECRASHED', path)
    const fault = files.fault?.(operation, path)
    if (fault !== undefined && 'code' in fault) throw error(fault.code, path)
  }

  /** A sync that fails leaves the pages clean, as Linux does: the next one succeeds without having written them. */
  async function sync(inode: Inode, operation: () => Promise<void>): Promise<void> {
    try {
      await operation()
    } catch (thrown) {
      if (files.steps <= files.crashAt) inode.forget()
      throw thrown
    }
    inode.sync()
  }

  function openFile(inode: Inode, path: string, syncsWrites: boolean): OpenFile {
    return {
      async read(into, position) {
        await step('read', path)
        return position >= inode.data.length ? 0 : inode.data.copy(into, 0, position, position + into.length)
      },
      async write(chunks, position) {
        const bytes = Buffer.concat(chunks)
        const fault = files.steps < files.crashAt ? files.fault?.('short', path) : undefined
        let length = fault !== undefined && 'shortTo' in fault ? Math.min(fault.shortTo, bytes.length) : bytes.length
        // The operation during which the process dies writes half of its bytes.
        const dies = files.steps === files.crashAt
        if (dies) length = Math.floor(bytes.length / 2)
        const failed = await step('write', path).catch((thrown: unknown) => thrown)
        if (failed !== undefined && !dies) throw failed
        inode.write(bytes.subarray(0, length), position)
        if (failed !== undefined) throw failed
        if (syncsWrites) {
          await sync(inode, async () => {
            const fails = files.fault?.('datasync', path)
            if (fails !== undefined && 'code' in fails) throw error(fails.code, path)
          })
        }
        return length
      },
      datasync: () => sync(inode, () => step('datasync', path)),
      async truncate(length) {
        await step('truncate', path)
        inode.truncate(length)
      },
      size: async () => inode.data.length,
      close: async () => {},
    }
  }

  function afterCrash(mode: CrashMode, random: () => number = Math.random): ModelFiles {
    if (mode === 'keep') return build(copyOf(disk))
    const names = { files: new Map(disk.durable.files), dirs: new Set(disk.durable.dirs) }
    if (mode === 'torn') for (const each of kept(disk.changes, random)) apply(each, names)
    const survivors = [...names.files]
      .filter(([path]) => isReachable(path, names.dirs))
      .map(([path, inode]): [string, Inode] => [path, inode.afterPowerCut(mode === 'torn' ? random : undefined)])
    const reached = [...names.dirs].filter((dir) => isReachable(dir, names.dirs))
    const both = (): Names => ({ files: new Map(survivors), dirs: new Set(reached) })
    return build({ names: both(), durable: both(), changes: [] })
  }

  return files
}

/** The same disk for another process, so that a test can go two ways from here. */
function copyOf({ names, durable, changes }: Disk): Disk {
  const copies = new Map<Inode, Inode>()
  const copy = (inode: Inode): Inode => {
    const made = copies.get(inode) ?? inode.copy()
    copies.set(inode, made)
    return made
  }
  const copyNames = ({ files, dirs }: Names): Names => ({
    files: new Map([...files].map(([path, inode]) => [path, copy(inode)])),
    dirs: new Set(dirs),
  })
  const copied = changes.map((each) => (each.inode === undefined ? each : { ...each, inode: copy(each.inode) }))
  return { names: copyNames(names), durable: copyNames(durable), changes: copied }
}

/** A journal keeps changes of names in order, so the first ones survive; POSIX promises not even that. */
function kept(changes: readonly Change[], random: () => number): readonly Change[] {
  if (random() < 0.5) return changes.slice(0, Math.floor(random() * (changes.length + 1)))
  return changes.filter(() => random() < 0.5)
}

/** A file whose directory is gone is gone too. */
function isReachable(path: string, dirs: ReadonlySet<string>): boolean {
  for (let dir = dirname(path); dir !== '/'; dir = dirname(dir)) if (!dirs.has(dir)) return false
  return true
}
