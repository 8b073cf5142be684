// Builds the packages and examples with tsc and the page with vite, each only if something in it changed since its last
// build. Given the name of an example, only that one and what it needs.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { writeScripts } from './lua.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const packages = [
  { name: 'sluice', needs: [] },
  { name: 'server', needs: ['sluice'] },
  { name: 'dashboard', needs: [], compile: compilePage, more: ['index.html', 'vite.config.ts'] },
]
const isBuilt = (name) => existsSync(join(root, 'examples', name, 'tsconfig.json'))
const examples = [
  { name: 'service', needs: ['sluice'] },
  ...readdirSync(join(root, 'examples'))
    .filter((name) => name !== 'service' && isBuilt(name))
    .map((name) => ({ name, needs: ['sluice', 'server', 'service'] })),
]

const folder = (name) => join(root, packages.some((each) => each.name === name) ? 'packages' : 'examples', name)
const stamp = (name) => join(folder(name), 'dist', '.built')
/** The stamp holds the time of the newest source that was built, so that an edit during a build is not missed. */
const builtUpTo = (name) => (existsSync(stamp(name)) ? Number(readFileSync(stamp(name), 'utf8')) : 0)
const timeOf = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

const isTest = (name) => name.endsWith('.test.ts')
const hasSources = (name) =>
  existsSync(join(folder(name), 'src')) &&
  readdirSync(join(folder(name), 'src'), { recursive: true }).some((file) => /\.tsx?$/.test(file) && !isTest(file))

/** Directories count too: their time changes when files are removed. */
function newestSource({ name, needs, more = [] }) {
  const src = join(folder(name), 'src')
  const entries = readdirSync(src, { recursive: true }).filter((file) => !isTest(file))
  const inputs = [
    ...[src, ...entries.map((file) => join(src, file))],
    ...['tsconfig.json', 'package.json', ...more].map((file) => join(folder(name), file)),
    ...[join(root, 'tsconfig.base.json'), ...(more.length > 0 ? [join(root, 'package-lock.json')] : [])],
  ]
  return Math.max(...inputs.map(timeOf), ...needs.map(builtUpTo))
}

/** Files tsc does not know, such as protocol definitions and pages, go along as they are. */
const isAsset = (path) => (statSync(path).isDirectory() ? !path.endsWith('/lua') : !/\.(ts|lua|md)$/.test(path))

function node(script, ...args) {
  return spawnSync(process.execPath, [join(root, 'node_modules', script), ...args], { stdio: 'inherit' }).status === 0
}

function compileLibrary(home) {
  if (!node('typescript/bin/tsc', '-p', join(home, 'tsconfig.json'))) return false
  cpSync(join(home, 'src'), join(home, 'dist'), { recursive: true, filter: isAsset })
  return true
}

/** Compressed once here, so that the daemon need not do it for each request. */
function compilePage(home) {
  if (!node('typescript/bin/tsc', '-p', join(home, 'tsconfig.json'))) return false
  if (!node('vite/bin/vite.js', 'build', home)) return false
  const files = readdirSync(join(home, 'dist'), { recursive: true, withFileTypes: true })
  for (const file of files.filter((each) => each.isFile())) {
    const path = join(file.parentPath, file.name)
    const bytes = readFileSync(path)
    writeFileSync(`${path}.br`, brotliCompressSync(bytes))
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  }
  return true
}

/** The server serves the page from its own folder: there it is published, and there it is when run from source. */
function copyPage() {
  const [from, to] = [join(folder('dashboard'), 'dist'), join(folder('server'), 'dist', 'page')]
  const stampOf = (home) => (existsSync(join(home, '.built')) ? readFileSync(join(home, '.built'), 'utf8') : undefined)
  if (!existsSync(from) || stampOf(from) === stampOf(to)) return
  rmSync(to, { recursive: true, force: true })
  cpSync(from, to, { recursive: true })
}

function build(entry) {
  const started = performance.now()
  const home = folder(entry.name)
  const newest = newestSource(entry)
  if (builtUpTo(entry.name) >= newest) return true
  rmSync(join(home, 'dist'), { recursive: true, force: true })
  if (!(entry.compile ?? compileLibrary)(home)) return false
  writeFileSync(stamp(entry.name), String(newest))
  console.log(`built ${relative(root, home)} in ${((performance.now() - started) / 1000).toFixed(1)} s`)
  return true
}

writeScripts()
const wanted = process.argv[2]
const some = wanted === undefined ? examples : examples.filter(({ name }) => ['service', wanted].includes(name))
const ok = [...packages, ...some].filter(({ name }) => hasSources(name)).every(build)
if (ok) copyPage()
process.exitCode = ok ? 0 : 1
