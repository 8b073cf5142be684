import { builtIn } from '../../built-in.ts'

/** A name whose entry in a folder decides what a path means. */
export interface WatchedName {
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
