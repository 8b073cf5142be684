import { relative } from 'node:path'
import { expect, it } from 'vitest'
import { entryPoints, home } from './entry-points.ts'

/** Each framework has its own, so that a service imports from one place. */
const perFramework: readonly string[] = ['rateLimit', 'protect']

it('exports a name once over all entry points, or the same thing again', () => {
  const declared = new Map<string, Map<string, string[]>>()
  for (const { subpath, names } of entryPoints) {
    for (const [name, { file, name: original }] of names) {
      const id = `${relative(home, file)}#${original}`
      const places = declared.get(name) ?? new Map<string, string[]>()
      declared.set(name, places.set(id, [...(places.get(id) ?? []), subpath]))
    }
  }
  const clashes = [...declared].flatMap(([name, places]) =>
    places.size > 1 && !perFramework.includes(name) ? [`${name}: ${[...places.keys()].join(', ')}`] : [],
  )
  expect(clashes).toEqual([])
})
