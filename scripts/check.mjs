// Every check that is not a test. All of them run; the command fails at the end if any failed.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pack, published } from './pack.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Runs a command; what it printed becomes the reason if it fails. */
function command(name, ...args) {
  const { FORCE_COLOR, ...inherited } = process.env // biome takes even FORCE_COLOR=0 for a yes
  const env = { ...inherited, NO_COLOR: '1' }
  const local = join(root, 'node_modules', '.bin', name)
  const result = spawnSync(existsSync(local) ? local : name, args, { cwd: root, encoding: 'utf8', env })
  if (result.status !== 0) throw new Error(`${result.error?.message ?? ''}${result.stdout ?? ''}${result.stderr ?? ''}`)
  return result.stdout
}

const node = (...args) => command(process.execPath, ...args)
const readJson = (file) => JSON.parse(readFileSync(join(root, file), 'utf8'))

/** Generators that exist; each takes `--check`. */
function generated() {
  node('scripts/lua.mjs', '--check')
  // The reference also reads the server, which must not need a built library for that.
  const sources = ['--import', 'tsx', '--conditions', 'sluice-source']
  for (const script of ['schema', 'pictures', 'reference']) node(...sources, `scripts/${script}.ts`, '--check')
  // In CI the build has just renewed them, so what was committed is what counts.
  if (!process.env.CI) return
  const changed = command('git', 'status', '--porcelain', '--', '*.gen.ts', '*.schema.json')
  if (changed !== '') throw new Error(`not committed as generated; run npm run generate:\n${changed}`)
}

/** Every subpath that a package promises has a source. */
function exportsExist() {
  const missing = published.flatMap((name) => {
    const home = `packages/${name}`
    const targets = Object.entries(readJson(`${home}/package.json`).exports).map(([subpath, target]) => ({
      subpath,
      file: join(home, typeof target === 'string' ? target : target['sluice-source']),
    }))
    return targets
      .filter(({ file }) => !existsSync(join(root, file)))
      .map(({ subpath, file }) => `${name} ${subpath}: no ${file}`)
  })
  if (missing.length > 0) throw new Error(`exported, but not there:\n${missing.join('\n')}`)
}

function packed(name) {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-check-'))
  try {
    const tarball = pack(name, directory)
    command('publint', 'run', tarball, '--strict')
    // JSON subpaths have no types to be right or wrong about.
    command('attw', tarball, '--profile', 'esm-only', '--no-emoji', '--exclude-entrypoints', './policy.schema.json')
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** A lock file with addresses would send every user to the registry of its author. */
function lockFile() {
  const entries = Object.entries(readJson('package-lock.json').packages)
  const found = entries.filter(([, { resolved }]) => /^[a-z+]+:/.test(resolved ?? '')).map(([name]) => name)
  if (found.length > 0) throw new Error(`package-lock.json holds download addresses: ${found.slice(0, 5).join(', ')}`)
}

/** Paths of one machine have no meaning on another. */
function machinePaths() {
  const files = command('git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard')
    .split('\0')
    .filter(Boolean)
  const own = root.replace(/\/$/, '').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const path = new RegExp(`${own}(?![\\w-])|/(?:home|Users)/(?!linuxbrew/)[\\w.-]+/|(?<![\\w.-])/root/`)
  const found = files.flatMap((file) => {
    const full = join(root, file)
    if (file === 'scripts/check.mjs' || !existsSync(full) || !statSync(full).isFile()) return []
    const lines = readFileSync(full, 'utf8').split('\n')
    return lines.flatMap((line, index) =>
      path.test(line) ? [`${file}:${index + 1}: ${line.trim().slice(0, 120)}`] : [],
    )
  })
  if (found.length > 0) throw new Error(found.join('\n'))
}

const checks = [
  ['lint and format', () => command('biome', 'ci', '--colors=off', '.')],
  ['types', () => ['tsconfig.json', 'packages/dashboard', 'test/page'].map((project) => command('tsc', '-p', project))],
  ['examples in the documentation', () => node('scripts/docs-code.mjs')],
  ['generated files', generated],
  ['build', () => node('scripts/build.mjs')],
  ['site', () => command('vitepress', 'build', 'site')],
  ['exports', exportsExist],
  ['unused code', () => command('knip')],
  ...published.map((name) => [`package ${name}`, () => packed(name)]),
  ['lock file', lockFile],
  ['machine paths', machinePaths],
]

let failed = 0
for (const [name, check] of checks) {
  const started = performance.now()
  let problem
  try {
    check()
  } catch (error) {
    problem = error.message.trim()
    failed++
  }
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`${problem === undefined ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`)
  if (problem) console.log(problem.replace(/^/gm, '    '))
}
console.log(failed === 0 ? `all ${checks.length} checks passed` : `${failed} of ${checks.length} checks failed`)
process.exitCode = failed === 0 ? 0 : 1
