import type { FileSystem, OpenFile } from '../../../shipper/files/file-system.ts'
import type { ModelFiles } from '../model-files.ts'

/** One step that changes something, or makes it durable. */
export interface Step {
  readonly operation: 'write' | 'durable-write' | 'datasync' | 'truncate' | 'rename' | 'link' | 'remove' | 'syncDir'
  /** The name of the file; for `syncDir` that of a file that was created, renamed or removed since the last one. */
  readonly name: string
  /** For `syncDir`: what was done to that file. */
  readonly after?: 'create' | 'rename' | 'link' | 'remove' | 'makeDir'
}

const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
const nothing = async (): Promise<void> => {}

/** A file system that says that a step is done, and does not do it, where `isLeftOut`. */
export function leaveOut(fs: ModelFiles, isLeftOut: (step: Step) => boolean): FileSystem {
  let changes: Step[] = []
  const changed = (path: string, after: NonNullable<Step['after']>): void => {
    changes.push({ operation: 'syncDir', name: nameOf(path), after })
  }

  function openFile(file: OpenFile, name: string): OpenFile {
    return {
      ...file,
      write: async (chunks, position) =>
        isLeftOut({ operation: 'write', name })
          ? chunks.reduce((sum, { length }) => sum + length, 0)
          : file.write(chunks, position),
      datasync: isLeftOut({ operation: 'datasync', name }) ? nothing : file.datasync,
      truncate: isLeftOut({ operation: 'truncate', name }) ? nothing : file.truncate,
    }
  }

  return {
    ...fs,
    exists: fs.exists,
    async open(path, mode) {
      const name = nameOf(path)
      const isWeak = mode === 'create-durable' && isLeftOut({ operation: 'durable-write', name })
      const file = await fs.open(path, isWeak ? 'create' : mode)
      if (mode !== 'read' && mode !== 'update') changed(path, 'create')
      return openFile(file, name)
    },
    async rename(from, to) {
      if (!isLeftOut({ operation: 'rename', name: nameOf(to) })) await fs.rename(from, to)
      changed(to, 'rename')
    },
    async link(from, to) {
      if (!isLeftOut({ operation: 'link', name: nameOf(to) })) await fs.link(from, to)
      changed(to, 'link')
    },
    async remove(path) {
      if (!isLeftOut({ operation: 'remove', name: nameOf(path) })) await fs.remove(path)
      changed(path, 'remove')
    },
    async makeDir(dir) {
      const isWeak = isLeftOut({ operation: 'syncDir', name: nameOf(dir), after: 'makeDir' })
      const { syncDir } = fs
      // The model makes a directory durable by its own `syncDir`.
      if (isWeak) fs.syncDir = nothing
      await fs.makeDir(dir).finally(() => {
        fs.syncDir = syncDir
      })
    },
    async syncDir(dir) {
      // Another part of the process may need it for a change of its own: then it is done.
      const isDone = changes.length === 0 || !changes.every(isLeftOut)
      changes = []
      if (isDone) await fs.syncDir(dir)
    },
  }
}
