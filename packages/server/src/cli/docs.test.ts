import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { exitCodes } from './command.ts'
import { commands } from './commands.ts'

const text = readFileSync(join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'cli.md'), 'utf8')
const rows = text.split('\n').filter((line) => line.startsWith('| '))

describe('docs/cli.md', () => {
  it('lists every exit code with its meaning, and no other', () => {
    const documented = rows.filter((row) => /^\| \d+ \|/.test(row))
    expect(documented).toEqual(Object.entries(exitCodes).map(([code, meaning]) => `| ${code} | ${meaning} |`))
  })

  it('lists every command with its arguments', () => {
    for (const { name, args } of commands) {
      const written = `\`${name}${args === undefined ? '' : ` ${args.replaceAll('|', '\\|')}`}\``
      expect(
        rows.some((row) => row.startsWith(`| ${written} |`)),
        written,
      ).toBe(true)
    }
  })

  it('names no option that there is not', () => {
    const known = new Set(['no-color', 'json', ...commands.flatMap(({ options }) => Object.keys(options))])
    const named = [...text.matchAll(/--([a-z][a-z-]+)/g)].map(([, name]) => name)
    expect(named.filter((name) => !known.has(name ?? ''))).toEqual([])
  })
})
