import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'

type Target = string | { readonly 'sluice-source': string; readonly types: string; readonly default: string }

const home = join(import.meta.dirname, '..', 'packages', 'sluice')
const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
  exports: Record<string, Target>
  peerDependencies: Record<string, string>
  peerDependenciesMeta: Record<string, { optional?: boolean }>
}
const subpaths = Object.entries(manifest.exports)
const modules = subpaths.flatMap(([subpath, target]) => (typeof target === 'string' ? [] : [{ subpath, target }]))
const files = subpaths.flatMap(([subpath, target]) => (typeof target === 'string' ? [{ subpath, target }] : []))
const isBuilt = existsSync(join(home, 'dist', '.built'))

/** The names a module exports at run time. */
const namesIn = async (file: string): Promise<string[]> =>
  Object.keys((await import(pathToFileURL(join(home, file)).href)) as object).sort()

describe.each(modules)('sluice $subpath', ({ target }) => {
  it('has a source that can be imported', async () => {
    expect(await namesIn(target['sluice-source'])).not.toEqual([])
  })

  it.skipIf(!isBuilt)('is built, with its types and the same names', async () => {
    expect(existsSync(join(home, target.types))).toBe(true)
    expect(await namesIn(target.default)).toEqual(await namesIn(target['sluice-source']))
  })
})

describe.each(files)('sluice $subpath', ({ target }) => {
  it('is there', () => expect(existsSync(join(home, target))).toBe(true))
})

describe('sluice .', () => {
  it('exports about a dozen names', async () => {
    const names = await namesIn('./src/index.ts')
    expect(names.length, names.join(', ')).toBeLessThanOrEqual(16)
  })
})

describe('the build of sluice', () => {
  it.skipIf(!isBuilt)('has no module that no entry reaches', () => {
    const reached = new Set<string>()
    const visit = (source: string): void => {
      if (reached.has(source) || !existsSync(source)) return
      reached.add(source)
      // A worker is named by its address, as it is built.
      const paths = /(?:\bfrom |\bimport |\bimport\(|new URL\()'(\.[^']+)\.[jt]s'/g
      for (const [, path] of readFileSync(source, 'utf8').matchAll(paths)) visit(join(dirname(source), `${path}.ts`))
    }
    for (const { target } of modules) visit(join(home, target['sluice-source']))
    const built = readdirSync(join(home, 'dist'), { recursive: true, encoding: 'utf8' })
    const modulesOfNone = built
      .filter((file) => file.endsWith('.js'))
      .filter((file) => !reached.has(join(home, 'src', file.replace(/js$/, 'ts'))))
    expect(modulesOfNone).toEqual([])
  })
})

describe('the peers of sluice', () => {
  it.each(Object.entries(manifest.peerDependencies))('%s is optional and has an upper bound: %s', (name, range) => {
    expect(range).toMatch(/^>=\d[\d.]* <\d[\d.]*$/)
    expect(manifest.peerDependenciesMeta[name]?.optional).toBe(true)
  })
  it.each(Object.entries(manifest.peerDependencies))('%s is tested within %s', (name, range) => {
    const installed = JSON.parse(readFileSync(join(home, '..', '..', 'node_modules', name, 'package.json'), 'utf8'))
    const numbers = (text: string): number[] => text.split('.').map(Number)
    const [from, below] = range.replace(/[>=<]/g, '').split(' ').map(numbers)
    expect(compare(numbers(installed.version), from!)).toBeGreaterThanOrEqual(0)
    expect(compare(numbers(installed.version), below!)).toBeLessThan(0)
  })
})

function compare(a: readonly number[], b: readonly number[]): number {
  const at = [0, 1, 2].find((i) => (a[i] ?? 0) !== (b[i] ?? 0)) ?? 0
  return (a[at] ?? 0) - (b[at] ?? 0)
}
