import { randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { Environment } from '../read-options.ts'

/** A token that cannot be guessed. */
export function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/** Where a daemon on this port leaves its generated token for the command line of the same user. */
export function tokenFileOf(port: number, env: Environment): string {
  const base = env.XDG_RUNTIME_DIR
  const folder = base === undefined || base === '' ? join(tmpdir(), `sluice-${userInfo().uid}`) : join(base, 'sluice')
  return join(folder, `daemon-${port}.token`)
}

/**
 * Writes a token that only this user can read. Throws when the folder belongs to another user or others may write to
 * it.
 */
export function writeTokenFile(file: string, token: string): void {
  const folder = join(file, '..')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (!isPrivate(folder))
    throw new Error(`${folder} must be a folder of this user that nobody else can use (mode 0700)`)
  // Renaming replaces the file of a daemon that was killed, whatever its mode, in one step.
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  writeFileSync(draft, `${token}\n`, { mode: 0o600, flag: 'wx' })
  renameSync(draft, file)
}

/** The token of a daemon that was started by this user on this machine; undefined when there is none. */
export function readTokenFile(file: string): string | undefined {
  try {
    return isPrivate(join(file, '..')) ? readFileSync(file, 'utf8').trim() || undefined : undefined
  } catch {
    return undefined
  }
}

/** Removes a token file, unless another daemon has taken the port and written its own. */
export function removeTokenFile(file: string, token: string): void {
  if (readTokenFile(file) === token) rmSync(file, { force: true })
}

/** In a folder such as /tmp another user may have created the path first, as a link or as a folder of their own. */
function isPrivate(folder: string): boolean {
  const stat = lstatSync(folder)
  return stat.isDirectory() && stat.uid === userInfo().uid && (stat.mode & 0o077) === 0
}
