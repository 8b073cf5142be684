import { relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { entryPoints, home } from './entry-points.ts'
import { type Declared, find } from './modules.ts'
import { typeNamesOf } from './surface.ts'

const idOf = ({ file, name }: Declared): string => `${relative(home, file)}#${name}`
const exported = new Set(entryPoints.flatMap(({ names }) => [...names.values()].map(idOf)))

/** The types that a declaration is written with, its bases' too, by what they are declared as. */
function typesOf(declared: Declared): Declared[] {
  const { names, bases } = typeNamesOf(declared)
  const found = (used: Iterable<string>) => [...used].flatMap((name) => find(declared.file, name) ?? [])
  return [...found(names), ...found(bases).flatMap(typesOf)]
}

describe.each(entryPoints)('sluice $subpath', ({ names }) => {
  it('exports all types that its signatures are written with, or another entry point does', () => {
    const unnamed = [...names].flatMap(([name, declared]) =>
      typesOf(declared)
        .filter((used) => !exported.has(idOf(used)))
        .map((used) => `${name} uses ${idOf(used)}`),
    )
    expect(unnamed).toEqual([])
  })
})
