import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root })
  .toString()
  .split('\0')
  .filter((file) => file !== '' && existsSync(join(root, file)))
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** Names of other programs, and one mistake that docs/cli.md shows. */
const foreign = new Set(['--max-semi-space-size', 'nodeLinker', 'SLUICE_REDIS_URI'])

const isCode = (file: string): boolean =>
  /\.(ts|tsx|mjs|js|lua|proto|json|ya?ml|css|html)$|Dockerfile$/.test(file) &&
  !/docs-names\.test\.ts$|package-lock\.json$/.test(file)
const words = new Set(tracked.filter(isCode).flatMap((file) => read(file).match(/[A-Za-z_][A-Za-z0-9_]*/g) ?? []))
/** Names with hyphens, such as options of commands and headers. */
const hyphenated = new Set(
  tracked.filter(isCode).flatMap(
    (file) =>
      read(file)
        .toLowerCase()
        .match(/[a-z][a-z0-9]*(?:-[a-z0-9]+)+/g) ?? [],
  ),
)

const pages = tracked.filter((file) => /^(README|docs\/[^/]+|(packages|examples)\/[^/]+\/README)\.md$/.test(file))
const inlineCode = (page: string): string[] =>
  [
    ...read(page)
      .replace(/^```[\s\S]*?^```/gm, '')
      .matchAll(/`([^`\n]+)`/g),
  ].map((match) => match[1]!)

describe.each(pages)('%s', (page) => {
  // Names in the form of ours: functions, fields, options, codes, variables, metrics.
  it('names nothing that is not in the code', () => {
    const named = inlineCode(page).flatMap((code) => code.match(/\b(?:[a-z]+[A-Z]\w*|SLUICE_\w+|sluice_\w+)\b/g) ?? [])
    expect([...new Set(named)].filter((name) => !words.has(name) && !foreign.has(name))).toEqual([])
  })

  it('names no option of a command that is not in the code', () => {
    const named = inlineCode(page).flatMap((code) => code.match(/(?<= |^)--[a-z][a-z0-9-]+/g) ?? [])
    const isKnown = (option: string): boolean => hyphenated.has(option) || words.has(option)
    expect([...new Set(named)].filter((option) => !isKnown(option.slice(2)) && !foreign.has(option))).toEqual([])
  })
})
