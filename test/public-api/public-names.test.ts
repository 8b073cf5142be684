import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Declared, exportsOf, find } from './modules.ts'
import { typeNamesOf } from './surface.ts'

const home = join(import.meta.dirname, '..', '..', 'packages', 'sluice')
const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
  readonly exports: Record<string, string | { readonly 'sluice-source': string }>
}
const entries = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
  typeof target === 'string' ? [] : [{ subpath, names: exportsOf(join(home, target['sluice-source'])) }],
)
const idOf = ({ file, name }: Declared): string => `${relative(home, file)}#${name}`
const exported = new Set(entries.flatMap(({ names }) => [...names.values()].map(idOf)))

/** The types that a declaration is written with, its bases' too, by what they are declared as. */
function typesOf(declared: Declared): Declared[] {
  const { names, bases } = typeNamesOf(declared)
  const found = (used: Iterable<string>) => [...used].flatMap((name) => find(declared.file, name) ?? [])
  return [...found(names), ...found(bases).flatMap(typesOf)]
}

describe.each(entries)('sluice $subpath', ({ names }) => {
  it('exports all types that its signatures are written with, or another entry point does', () => {
    const unnamed = [...names].flatMap(([name, declared]) =>
      typesOf(declared)
        .filter((used) => !exported.has(idOf(used)))
        .map((used) => `${name} uses ${idOf(used)}`),
    )
    expect(unnamed).toEqual([])
  })
})
