import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
/** The width that the formatter keeps code to. It leaves comments alone. */
const width = 120

/** Lines that are comments from their first character on, and too wide; addresses cannot be broken. */
function wideComments(path: string, code: string): string[] {
  return code
    .split('\n')
    .map((line, at) => ({ line, where: `${path}:${at + 1}` }))
    .filter(({ line }) => line.length > width && /^\s*(\/\/|\/?\*|--)/.test(line) && !line.includes('://'))
    .map(({ where }) => where)
}

it('no comment is wider than the code', () => {
  const patterns = ['packages', 'examples', 'test', 'bench', 'scripts'].flatMap((folder) =>
    ['ts', 'tsx', 'mjs', 'lua'].map((ending) => `${folder}/*.${ending}`),
  )
  const files = execFileSync('git', ['ls-files', ...patterns], { cwd: root })
    .toString()
    .split('\n')
  const present = files.filter((file) => file !== '' && existsSync(join(root, file)))
  expect(present.length).toBeGreaterThan(1000)
  expect(present.flatMap((file) => wideComments(file, readFileSync(join(root, file), 'utf8')))).toEqual([])
})

it('a wide comment is found, and a wide line of code is left to the formatter', () => {
  const wide = 'x'.repeat(width)
  expect(wideComments('a.ts', `// ${wide}\n  * ${wide}\nconst a = '${wide}'\n// short`)).toEqual(['a.ts:1', 'a.ts:2'])
  expect(wideComments('a.lua', `-- ${wide}\nlocal a = '${wide}'`)).toEqual(['a.lua:1'])
})
