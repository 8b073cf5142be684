import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Declared, exportsOf } from './modules.ts'

/** The folder of the library. */
export const home: string = join(import.meta.dirname, '..', '..', 'packages', 'sluice')

const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
  readonly exports: Record<string, string | { readonly 'sluice-source': string }>
}

/** A subpath of the library, and what it exports. */
export interface EntryPoint {
  readonly subpath: string
  readonly file: string
  readonly names: ReadonlyMap<string, Declared>
}

export const entryPoints: readonly EntryPoint[] = Object.entries(manifest.exports).flatMap(([subpath, target]) => {
  if (typeof target === 'string') return []
  const file = join(home, target['sluice-source'])
  return [{ subpath, file, names: exportsOf(file) }]
})
