import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { knownVariables } from '../packages/server/src/config/config.ts'

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
/** The variables of the daemon follow from the names of its options. */
const words = new Set([
  ...tracked.filter(isCode).flatMap((file) => read(file).match(/[A-Za-z_][A-Za-z0-9_]*/g) ?? []),
  ...knownVariables,
])
/** Names with hyphens, such as options of commands and headers. */
const hyphenated = new Set(
  tracked.filter(isCode).flatMap(
    (file) =>
      read(file)
        .toLowerCase()
        .match(/[a-z][a-z0-9]*(?:-[a-z0-9]+)+/g) ?? [],
  ),
)

const pages = tracked.filter((file) =>
  /^(README|docs\/(?!decisions\/).+|(packages|examples)\/[^/]+\/README)\.md$/.test(file),
)
/** On pages for those who come from another package, also what that package declares. */
const peers = [
  'express-rate-limit',
  'rate-limiter-flexible',
  '@upstash/ratelimit',
  'bottleneck',
  '@types/opossum',
  'cockatiel',
  'bentocache',
]
const declared = new Set(
  peers
    .flatMap((name) => ['bench', '.'].map((place) => join(root, place, 'node_modules', name)))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.d\.[cm]?ts$/.test(file) && !file.includes('node_modules'))
        .flatMap((file) => readFileSync(join(folder, file), 'utf8').match(/[A-Za-z_]\w*/g) ?? []),
    ),
)
const isKnownIn = (page: string, name: string): boolean =>
  words.has(name) || foreign.has(name) || (page.startsWith('docs/coming-from/') && declared.has(name))
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
    expect([...new Set(named)].filter((name) => !isKnownIn(page, name))).toEqual([])
  })

  it('names no option of a command that is not in the code', () => {
    const named = inlineCode(page).flatMap((code) => code.match(/(?<= |^)--[a-z][a-z0-9-]+/g) ?? [])
    const isKnown = (option: string): boolean => hyphenated.has(option) || words.has(option)
    expect([...new Set(named)].filter((option) => !isKnown(option.slice(2)) && !foreign.has(option))).toEqual([])
  })
})
