// Builds the packages with tsc, each only if something in it changed since its last build.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writeScripts } from './lua.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const packages = [
  { name: 'sluice', needs: [] },
  { name: 'server', needs: ['sluice'] },
]

const folder = (name) => join(root, 'packages', name)
const stamp = (name) => join(folder(name), 'dist', '.built')
/** The stamp holds the time of the newest source that was built, so that an edit during a build is not missed. */
const builtUpTo = (name) => (existsSync(stamp(name)) ? Number(readFileSync(stamp(name), 'utf8')) : 0)
const timeOf = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

const isTest = (name) => name.endsWith('.test.ts')
const hasSources = (name) =>
  existsSync(join(folder(name), 'src')) &&
  readdirSync(join(folder(name), 'src'), { recursive: true }).some((file) => file.endsWith('.ts') && !isTest(file))

/** Directories count too: their time tells of files that were removed. */
function newestSource({ name, needs }) {
  const src = join(folder(name), 'src')
  const entries = readdirSync(src, { recursive: true }).filter((file) => !isTest(file))
  const inputs = [
    ...[src, ...entries.map((file) => join(src, file))],
    ...[join(folder(name), 'tsconfig.json'), join(folder(name), 'package.json'), join(root, 'tsconfig.base.json')],
  ]
  return Math.max(...inputs.map(timeOf), ...needs.map(builtUpTo))
}

/** Files tsc does not know, such as protocol definitions and pages, go along as they are. */
const isAsset = (path) => (statSync(path).isDirectory() ? !path.endsWith('/lua') : !/\.(ts|lua|md)$/.test(path))

function build(entry) {
  const started = performance.now()
  const home = folder(entry.name)
  const newest = newestSource(entry)
  if (builtUpTo(entry.name) >= newest) return true
  rmSync(join(home, 'dist'), { recursive: true, force: true })
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const result = spawnSync(process.execPath, [tsc, '-p', join(home, 'tsconfig.json')], { stdio: 'inherit' })
  if (result.status !== 0) return false
  cpSync(join(home, 'src'), join(home, 'dist'), { recursive: true, filter: isAsset })
  const cli = join(home, 'dist', 'cli.js')
  if (existsSync(cli)) chmodSync(cli, 0o755)
  writeFileSync(stamp(entry.name), String(newest))
  console.log(`built packages/${entry.name} in ${((performance.now() - started) / 1000).toFixed(1)} s`)
  return true
}

writeScripts()
const ok = packages.filter(({ name }) => hasSources(name)).every(build)
process.exitCode = ok ? 0 : 1
