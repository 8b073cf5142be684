import type { FSWatcher } from 'node:fs'
import { builtIn } from '../../built-in.ts'
import type { WatchedName } from './watched-paths.ts'

interface Watched {
  readonly watcher: FSWatcher
  /** Device and inode: a folder that was replaced is another folder of the same name. */
  readonly identity: string
  names: ReadonlySet<string>
}

/** Watches folders for changes of certain names in them. What cannot be watched is left to polling. */
export class FolderWatch {
  readonly #changed: () => void
  readonly #folders = new Map<string, Watched>()
  #closed = false

  constructor(changed: () => void) {
    this.#changed = changed
  }

  /** Watches these names and no others. */
  async follow(names: readonly WatchedName[]): Promise<void> {
    const wanted = new Map<string, Set<string>>()
    for (const { folder, name } of names) wanted.set(folder, (wanted.get(folder) ?? new Set()).add(name))
    for (const folder of this.#folders.keys()) if (!wanted.has(folder)) this.#drop(folder)
    for (const [folder, namesThere] of wanted) {
      const identity = await builtIn('fs/promises')
        .stat(folder)
        .then(
          ({ dev, ino }) => `${dev}:${ino}`,
          () => undefined,
        )
      const known = this.#folders.get(folder)
      if (known !== undefined && known.identity === identity) known.names = namesThere
      else {
        this.#drop(folder)
        if (identity !== undefined) this.#watch(folder, identity, namesThere)
      }
    }
  }

  close(): void {
    this.#closed = true
    for (const folder of [...this.#folders.keys()]) this.#drop(folder)
  }

  #watch(folder: string, identity: string, names: ReadonlySet<string>): void {
    if (this.#closed) return
    try {
      // Not persistent: a policy that is watched does not keep a process alive.
      const watcher = builtIn('fs').watch(folder, { persistent: false })
      const watched: Watched = { watcher, identity, names }
      watcher.on('change', (_, name) => {
        if (name === null || watched.names.has(String(name))) this.#changed()
      })
      // ENOSPC (no watches left), EPERM (the folder is gone on Windows): polling goes on, and tries to watch again.
      watcher.on('error', () => {
        if (this.#folders.get(folder) === watched) this.#drop(folder)
      })
      this.#folders.set(folder, watched)
    } catch {
      // As above.
    }
  }

  #drop(folder: string): void {
    this.#folders.get(folder)?.watcher.close()
    this.#folders.delete(folder)
  }
}
