// Compiles the examples of the documentation and of the comments in the code, so that none goes stale. On a page: each
// TypeScript block, or each part of one that begins with a comment after an empty line. In code: each `@example`.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { commentExamples, exportsOf } from './examples/comments.mjs'
import { given, givenInComments, globals } from './examples/given.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, '.cache', 'docs-code')
/** The packages that readers come from are those of the bench. */
const peers = join(root, 'bench', '.cache', 'docs-code')
const read = (file) => readFileSync(join(root, file), 'utf8')

/** By name: the import of everything that the library publishes. */
const published = Object.fromEntries(
  Object.entries(JSON.parse(read('packages/sluice/package.json')).exports)
    .filter(([, target]) => typeof target === 'object')
    .flatMap(([subpath, target]) => {
      const names = exportsOf(read(join('packages/sluice', target['sluice-source'])))
      return names.map((name) => [name, `import { ${name} } from 'sluice${subpath.slice(1)}'`])
    }),
)

/** The file as a module in front of the examples: what it exports is known to its own. */
const fromSource = (file, names) => `import { ${names.join(', ')} } from '../../${file}'`

/** On these pages every block is a whole program: it can be pasted. */
const isWhole = (page) => /^docs\/(start|how-to|coming-from|operate|why|systems)\//.test(page)

function complete(code, file) {
  const isUsed = (name) => new RegExp(`(?<![.\\w])${name}\\b`).test(code)
  const isMade = (name) => new RegExp(`(?:const|class|^import(?: [^\\n]*)?)[ {]${name}\\b`, 'm').test(code)
  const isNeeded = (name) => isUsed(name) && !isMade(name)
  const own = file === undefined ? [] : exportsOf(read(file)).filter(isNeeded)
  // On a page an example shows its imports; in a comment the reader's editor finds them.
  const known = file === undefined ? given : { ...published, ...given, ...givenInComments }
  const taken = Object.keys(known).filter((name) => isNeeded(name) && !own.includes(name))
  const prelude = [...(own.length > 0 ? [fromSource(file, own)] : []), ...taken.map((name) => known[name])]
  return `${prelude.join('\n')}\n${code}\nexport {}\n`
}

function ofPage(page) {
  const blocks = [...read(page).matchAll(/^```ts(?: [\w-]+)?\n([\s\S]*?)^```/gm)]
  if (isWhole(page)) return blocks.map(([, code]) => ({ from: page, text: `${code}\nexport {}\n` }))
  return blocks.flatMap(([, code]) => code.split(/\n\n(?=\/\/ )/)).map((code) => ({ from: page, text: complete(code) }))
}

const ofSource = (file) => commentExamples(read(file)).map((code) => ({ from: file, text: complete(code, file) }))

const below = (directory, ending) =>
  readdirSync(join(root, directory), { recursive: true })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${directory}/${name}`)
const pages = ['README.md', 'packages/sluice/README.md', 'packages/server/README.md', ...below('docs', '.md')]
const sources = ['sluice', 'server']
  .flatMap((name) => below(`packages/${name}/src`, '.ts'))
  .filter((file) => !file.endsWith('.test.ts') && !file.endsWith('.gen.ts'))
const examples = { page: pages.flatMap(ofPage), comment: sources.flatMap(ofSource) }

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
rmSync(peers, { recursive: true, force: true })
mkdirSync(peers, { recursive: true })
for (const [index, { from, text }] of Object.values(examples).flat().entries()) {
  const name = `${from
    .replace(/\.(md|ts)$/, '')
    .replaceAll('/', '-')
    .toLowerCase()}-${index + 1}.ts`
  writeFileSync(join(from.startsWith('docs/coming-from/') ? peers : folder, name), text)
}
writeFileSync(join(folder, 'globals.d.ts'), globals)
writeFileSync(
  join(folder, 'tsconfig.json'),
  JSON.stringify({
    extends: '../../tsconfig.json',
    // An example may leave the types of a callback's parameters to the framework that it shows.
    compilerOptions: { rootDir: '../..', noImplicitAny: false, verbatimModuleSyntax: false },
    include: ['*.ts', '../../bench/.cache/docs-code/*.ts'],
    exclude: [],
  }),
)
const { stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder, '--pretty', 'false'], {
  encoding: 'utf8',
})
// The sources that examples import are checked with settings of their own, elsewhere.
const errors = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('packages/'))
for (const error of errors) console.log(error)
const counts = Object.entries(examples).map(([kind, { length }]) => `${length} in a ${kind}`)
if (errors.length === 0) console.log(`examples compile: ${counts.join(', ')}`)
process.exitCode = errors.length === 0 && Object.values(examples).every(({ length }) => length > 0) ? 0 : 1
