// Prints how large the project is: lines by part, exported names, import cycles, file sizes and terms of the glossary.
// With --check it fails when one of them is above its budget. Tests, models for tests and generated files do not count.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cyclesIn } from '../test/cycles.ts'
import { entryPoints as all } from '../test/public-api/entry-points.ts'
import { sourcesIn } from '../test/read-source.ts'

const budget = { lines: 62_000, names: 480, cycles: 0, terms: 25 }

/** `sluice/internal` is for our own server, and no promise to anybody. */
const entryPoints = all.filter(({ subpath }) => subpath !== './internal')

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (file) => readFileSync(join(root, file), 'utf8')

/** Files that people read to understand the product. */
function countedFiles() {
  return readdirSync(join(root, 'packages'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|tsx|lua)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .filter((path) => /^packages\/[^/]+\/src\//.test(path))
    .filter((path) => !/\.(test|test-d|d|gen)\.tsx?$/.test(path) && !/\/(simulation|testing)\//.test(path))
    .map((path) => ({ path, part: partOf(path), lines: read(path).trimEnd().split('\n').length }))
}

/** The parts of the library one by one, and the other packages. */
function partOf(path) {
  const [, home, , part] = path.split('/')
  return home === 'sluice' ? `sluice/${part}` : home
}

/** The words that the glossary explains: those in bold. */
function glossaryTerms() {
  const [, glossary = ''] = /^## Glossary\n([\s\S]*?)^## /m.exec(read('docs/design.md')) ?? []
  return glossary.match(/\*\*[^*]+\*\*/g)?.length ?? 0
}

function table(title, rows) {
  const width = Math.max(...rows.map(([name]) => name.length))
  console.log(`${title}\n${rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`).join('\n')}\n`)
}

const files = countedFiles()
const linesOf = (some) => some.reduce((sum, { lines }) => sum + lines, 0)
const parts = [...new Set(files.map(({ part }) => part))].sort()
const cycles = cyclesIn(sourcesIn(root))
const bySize = files.toSorted((a, b) => a.lines - b.lines)
const { path: largest, lines: most } = bySize.at(-1)
const distinct = new Set(entryPoints.flatMap(({ names }) => [...names.keys()]))
const found = {
  lines: linesOf(files),
  names: entryPoints.reduce((sum, { names }) => sum + names.size, 0),
  cycles: cycles.length,
  terms: glossaryTerms(),
}

table(
  'lines by part',
  parts.map((part) => [part, linesOf(files.filter((file) => file.part === part))]),
)
table(
  `exported names by entry point (${distinct.size} distinct)`,
  entryPoints.map(({ subpath, names }) => [`sluice${subpath.slice(1)}`, names.size]),
)
if (cycles.length > 0)
  table(
    'import cycles',
    cycles.map(({ of, members }) => [of, members.join(' ')]),
  )
table('files', [
  ['count', files.length],
  ['median', `${bySize[Math.floor(files.length / 2)].lines} lines`],
  ['largest', `${most} lines, ${largest}`],
])
table(
  'in all, and the budget',
  Object.entries(found).map(([name, value]) => [name, `${value} of ${budget[name]}`]),
)

const over = Object.keys(budget).filter((name) => found[name] > budget[name])
if (process.argv.includes('--check') && over.length > 0) {
  console.error(`above the budget: ${over.join(', ')}`)
  process.exitCode = 1
}
