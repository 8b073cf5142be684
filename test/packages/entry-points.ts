import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

export interface PublicManifest {
  readonly name: string
  readonly exports: Readonly<Record<string, unknown>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly [field: string]: unknown
}
export const manifestOf = (folder: 'sluice' | 'server'): PublicManifest =>
  JSON.parse(read(`packages/${folder}/package.json`)) as PublicManifest

/** Every public entry point that is code: `sluice`, `sluice/redis`, ... */
export const entryPoints: readonly string[] = Object.keys(manifestOf('sluice').exports)
  .filter((subpath) => !subpath.endsWith('.json') && subpath !== './internal')
  .map((subpath) => `sluice${subpath.slice(1)}`)

/** What each entry point needs besides `sluice` at run time, according to docs/install.md. */
export function documentedNeeds(): Record<string, string[]> {
  const rows = read('docs/install.md').matchAll(/^\| (.+?) \| (.+?) \|/gm)
  return Object.fromEntries(
    [...rows].flatMap(([, names, needs]) =>
      [...names!.matchAll(/`(sluice[\w/]*)`/g)].map(([, name]) => [
        name!,
        [...needs!.matchAll(/`([^`]+)`/g)].map((match) => match[1]!),
      ]),
    ),
  )
}
