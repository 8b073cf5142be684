import { accessSync, constants, readdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of the first of these programs that is on PATH or in one of the further folders. */
export function findBinary(names: string | readonly string[], folders: readonly string[] = []): string | undefined {
  const path = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  for (const name of typeof names === 'string' ? [names] : names) {
    const candidates = name.includes('/') ? [name] : [...path, ...folders].map((folder) => join(folder, name))
    const found = candidates.find(isExecutable)
    if (found !== undefined) return found
  }
  return undefined
}

/** Like `findBinary`, but says what to install when there is none. */
export function needBinary(names: string | readonly string[], remedy: string, folders: readonly string[] = []): string {
  const found = findBinary(names, folders)
  if (found === undefined) throw new Error(`${[names].flat().join(' or ')} was not found on PATH: ${remedy}`)
  return found
}

/** Folders that match `before/<name>/after`, newest version first; for programs that are installed per version. */
export function versionFolders(before: string, pattern: RegExp, after: string): string[] {
  try {
    return readdirSync(before)
      .filter((name) => pattern.test(name))
      .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
      .map((name) => join(before, name, after))
  } catch {
    return []
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
