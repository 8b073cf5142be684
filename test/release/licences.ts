import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

interface Manifest {
  readonly name: string
  readonly license?: string | { readonly type: string }
  /** As old packages write it. */
  readonly licenses?: readonly { readonly type: string }[]
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

const read = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest

/** Where a package that another needs is installed; undefined for an optional one that is not. */
function find(name: string, from: string): string | undefined {
  for (let at = from; at.startsWith(root); at = dirname(at)) {
    const folder = join(at, 'node_modules', name)
    if (existsSync(join(folder, 'package.json'))) return folder
  }
  return undefined
}

function licenceOf({ license, licenses }: Manifest): string {
  if (typeof license === 'string') return license
  return license?.type ?? licenses?.map(({ type }) => type).join(' OR ') ?? 'none'
}

/**
 * The licence of everything that comes to a user with the two packages: what they depend on, and what is bundled into
 * the page of the daemon.
 */
export function shippedLicences(): ReadonlyMap<string, string> {
  const licences = new Map<string, string>()
  const folders = ['sluice', 'server'].map((name) => join(root, 'packages', name))
  const add = (names: readonly string[], from: string): void => {
    for (const name of names) {
      const folder = find(name, from)
      if (folder === undefined || licences.has(folder)) continue
      const manifest = read(folder)
      licences.set(folder, licenceOf(manifest))
      add(Object.keys(manifest.dependencies ?? {}), folder)
    }
  }
  for (const folder of folders) add(Object.keys(read(folder).dependencies ?? {}), folder)
  const page = join(root, 'packages', 'dashboard')
  // Vite builds the page and is not in it.
  const bundled = Object.keys(read(page).devDependencies ?? {}).filter((name) => name !== 'vite')
  add(bundled, page)
  return new Map([...licences].map(([folder, licence]) => [folder.slice(root.length + 1), licence]))
}
