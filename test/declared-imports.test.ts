import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { describe, expect, it } from 'vitest'

// With a package manager that does not hoist, a package finds only what it declares.
const root = new URL('..', import.meta.url)
const sources = (folder: string): string[] =>
  execFileSync('git', ['ls-files', `${folder}/src`], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter((file) => /\.ts$/.test(file) && !/\.test\.ts$|\/testing\/|\/simulation\//.test(file))
const bare = /(?:\bfrom|\bimport|\bimport\()\s*'([@\w][\w./@-]*)'/g
const packageOf = (specifier: string): string => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')

describe.each(['packages/sluice', 'packages/server'])('%s', (folder) => {
  const manifest = JSON.parse(readFileSync(new URL(`${folder}/package.json`, root), 'utf8')) as Record<string, object>
  const declared = new Set([
    manifest.name as unknown as string,
    ...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
  ])

  it('declares every package that its sources import', () => {
    const missing = new Set<string>()
    for (const file of sources(folder)) {
      const code = readFileSync(new URL(file, root), 'utf8').replace(/^\s*(?:\*|\/\/).*$/gm, '')
      for (const [, specifier] of code.matchAll(bare)) {
        const name = packageOf(specifier!)
        if (!isBuiltin(specifier!) && !declared.has(name)) missing.add(`${name} in ${file}`)
      }
    }
    expect([...missing]).toEqual([])
  })
})

it('finds imports at all: the adapter for Nest needs @nestjs/core', () => {
  const code = readFileSync(new URL('packages/sluice/src/http/nest/rate-limit-module.ts', root), 'utf8')
  expect([...code.matchAll(bare)].map(([, specifier]) => specifier)).toContain('@nestjs/core')
})
