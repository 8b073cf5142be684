import { dirname } from 'node:path'
import type { FileSystem, OpenFile } from '../../shipper/files/file-system.ts'

/** A file's contents, as programs see them and as they are on the disk. */
interface Inode {
  data: Buffer
  durable: Buffer
  modifiedMs: number
}

/** A change of a directory that is not synced yet. */
interface Change {
  readonly dir: string
  readonly apply: (entries: Map<string, Inode>) => void
}

/** What a crash leaves of unsynced changes: nothing, everything (only the process died), or a random part. */
export type CrashMode = 'drop' | 'keep' | 'torn'

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
  readonly files: ReadonlyMap<string, { data: Buffer; durable: Buffer }>
  freeBytes: number
}

function error(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code })
}

/**
 * A file system in memory that forgets what was not synced: contents without `datasync`, names without `syncDir`.
 * Changes of names that are not synced survive a crash in the order in which they were made, as on a journaling file
 * system.
 */
export function modelFiles(): ModelFiles {
  return build(new Map())
}

function build(entries: Map<string, Inode>): ModelFiles {
  const durableEntries = new Map(entries)
  let changes: Change[] = []

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
      const inode: Inode = { data: Buffer.alloc(0), durable: Buffer.alloc(0), modifiedMs: Date.now() }
      change(dirname(path), (names) => names.set(path, inode))
      return openFile(inode, path, mode === 'create-durable')
    },
    async list(dir) {
      await step('list', dir)
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
      change(dirname(from), (names) => {
        names.delete(from)
        names.set(to, inode)
      })
    },
    async link(from, to) {
      await step('link', from)
      const inode = entries.get(from)
      if (inode === undefined) throw error('ENOENT', from)
      if (entries.has(to)) throw error('EEXIST', to)
      change(dirname(to), (names) => names.set(to, inode))
    },
    async remove(path) {
      await step('remove', path)
      if (!entries.has(path)) throw error('ENOENT', path)
      change(dirname(path), (names) => names.delete(path))
    },
    makeDir: (dir) => step('makeDir', dir),
    async syncDir(dir) {
      await step('syncDir', dir)
      for (const each of changes) if (each.dir === dir) each.apply(durableEntries)
      changes = changes.filter((each) => each.dir !== dir)
    },
    async space() {
      return { freeBytes: files.freeBytes, totalBytes: Number.MAX_SAFE_INTEGER }
    },
  }

  function change(dir: string, apply: Change['apply']): void {
    apply(entries)
    changes.push({ dir, apply })
  }

  async function step(operation: string, path: string): Promise<void> {
    await Promise.resolve()
    const { steps } = files
    ;(files as { steps: number }).steps = steps + 1
    if (steps >= files.crashAt) throw error('ECRASHED', path)
    const fault = files.fault?.(operation, path)
    if (fault !== undefined && 'code' in fault) throw error(fault.code, path)
  }

  function openFile(inode: Inode, path: string, syncsWrites: boolean): OpenFile {
    return {
      async read(into, position) {
        await step('read', path)
        return inode.data.copy(into, 0, position, position + into.length)
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
        const data = Buffer.alloc(Math.max(inode.data.length, position + length))
        inode.data.copy(data)
        bytes.copy(data, position, 0, length)
        inode.data = data
        inode.modifiedMs = Date.now()
        if (failed !== undefined) throw failed
        if (syncsWrites) {
          const sync = files.fault?.('datasync', path)
          if (sync !== undefined && 'code' in sync) throw error(sync.code, path)
          inode.durable = data
        }
        return length
      },
      async datasync() {
        await step('datasync', path)
        inode.durable = inode.data
      },
      async truncate(length) {
        await step('truncate', path)
        inode.data = Buffer.from(inode.data.subarray(0, length))
      },
      size: async () => inode.data.length,
      close: async () => {},
    }
  }

  function afterCrash(mode: CrashMode, random: () => number = Math.random): ModelFiles {
    const names = new Map(mode === 'keep' ? entries : durableEntries)
    if (mode === 'torn')
      for (const each of changes.slice(0, Math.floor(random() * (changes.length + 1)))) each.apply(names)
    const kept = [...names].map(([path, inode]): [string, Inode] => {
      const data = mode === 'keep' ? inode.data : mode === 'drop' ? inode.durable : torn(inode, random)
      return [path, { data, durable: data, modifiedMs: inode.modifiedMs }]
    })
    return build(new Map(kept))
  }

  return files
}

/**
 * Some part of what was not synced; what was appended is perhaps followed by zeros up to the full length, as ext4 may
 * show it.
 */
function torn({ data, durable }: Inode, random: () => number): Buffer {
  if (data.equals(durable)) return data
  if (data.length < durable.length) return random() < 0.5 ? data : durable
  const kept = durable.length + Math.floor(random() * (data.length - durable.length + 1))
  const result = Buffer.from(random() < 0.5 ? data.subarray(0, kept) : data)
  if (result.length > kept) result.fill(0, kept)
  // What was overwritten is new up to some sector and old from there on: disks write a sector of 512 bytes as a whole.
  const cut = Math.min(durable.length, Math.floor(random() * (durable.length / 512 + 1)) * 512)
  durable.copy(result, cut, cut)
  return result
}
