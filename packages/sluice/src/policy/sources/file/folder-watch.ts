import type { FSWatcher } from 'node:fs'
import { builtIn } from '../../built-in.ts'

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

/** A name whose entry in a folder decides what a path means. */
interface WatchedName {
  readonly folder: string
  readonly name: string
}

/** More links than this and the path goes round in circles; Linux draws the line at the same number. */
const mostLinks = 40

/**
 * Every directory entry that decides what is read at a path: the file itself and each symbolic link on the way to it.
 * Kubernetes mounts `sluice.yaml -> ..data/sluice.yaml` with `..data -> ..2026_01_01`, and swaps only `..data`.
 */
export async function watchedNames(path: string): Promise<readonly WatchedName[]> {
  const { lstat, readlink } = builtIn('fs/promises')
  const { dirname, join, parse, resolve } = builtIn('path')
  const names: WatchedName[] = []
  const { root } = parse(resolve(path))
  let rest = resolve(path).slice(root.length).split(/[\\/]/)
  let folder = root
  for (let links = 0; rest.length > 0 && links <= mostLinks; ) {
    const [name = '', ...after] = rest
    const here = join(folder, name)
    const isLink = await lstat(here).then(
      (stat) => stat.isSymbolicLink(),
      () => false,
    )
    if (isLink || after.length === 0) names.push({ folder, name })
    if (isLink) {
      links++
      const target = resolve(folder, await readlink(here))
      const base = parse(target).root
      rest = [...target.slice(base.length).split(/[\\/]/), ...after].filter((part) => part !== '')
      folder = base
    } else {
      rest = after
      folder = here
    }
  }
  return names.length > 0 ? names : [{ folder: dirname(path), name: '' }]
}
