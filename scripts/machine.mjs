// What the machine offers: commands, root rights, and a cache that every clone of the repository shares.
import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

/** Directories that hold servers although they are often not on PATH. */
const wellKnown = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/opt/homebrew/bin',
  '/opt/homebrew/sbin',
  '/home/linuxbrew/.linuxbrew/bin',
]

/** The path of a command, looked up on PATH, in the well-known places and in `more`; undefined when it is nowhere. */
export function findCommand(name, more = []) {
  const directories = [...(process.env.PATH ?? '').split(delimiter), ...wellKnown, ...more.flatMap(expand)]
  return directories.map((directory) => join(directory, name)).find(isExecutable)
}

/** The path of a shared library under one of these names; undefined when it is nowhere. */
export function findLibrary(names) {
  const directories = ['/usr/lib', '/usr/lib64', '/usr/local/lib', '/opt/homebrew/lib']
  const found = directories.flatMap((directory) =>
    (existsSync(directory) ? readdirSync(directory) : []).map((name) => [directory, name]),
  )
  // Debian has a folder for each architecture.
  const archs = found.filter(([, name]) => name.endsWith('-linux-gnu')).map((parts) => join(...parts))
  return [...directories, ...archs].flatMap((directory) => names.map((name) => join(directory, name))).find(existsSync)
}

/** `/usr/lib/postgresql/<version>/bin` has one level that varies: list it, newest version first. */
function expand(pattern) {
  const [before, after] = pattern.split('*')
  if (after === undefined) return [pattern]
  const parent = before.slice(0, before.lastIndexOf('/'))
  const prefix = before.slice(before.lastIndexOf('/') + 1)
  try {
    const names = readdirSync(parent).filter((name) => name.startsWith(prefix))
    names.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    return names.map((name) => `${parent}/${name}${after}`)
  } catch {
    return []
  }
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

export const isRoot = process.getuid?.() === 0

/** Runs a command without a terminal; answers `{ ok, output }` and never throws. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options })
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}${result.error ? `${result.error.message}\n` : ''}`
  return { ok: result.status === 0, output, stdout: result.stdout ?? '' }
}

/** Runs a command as root, through `sudo -n` where we are not; it never asks for a password. */
export function runAsRoot(command, args, options) {
  return isRoot ? run(command, args, options) : run('sudo', ['-n', '--preserve-env', command, ...args], options)
}

/**
 * The cache shared by all clones. Root keeps it outside its home directory: servers are then started as another user,
 * who may not enter there.
 */
export function machineCache() {
  if (process.env.SLUICE_CACHE_DIR) return process.env.SLUICE_CACHE_DIR
  return isRoot ? '/var/cache/sluice' : join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'sluice')
}
