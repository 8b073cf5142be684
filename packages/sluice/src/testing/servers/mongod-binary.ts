import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findBinary } from './binary.ts'

/** A MongoDB server program, and where it finds libraries that the machine does not have. */
export interface MongodBinary {
  readonly path: string
  readonly libraryPath: string | undefined
}

/** A mongod on PATH, or else the one that the set-up of the tests has left in `.cache/mongod.json`. */
export function findMongod(): MongodBinary | undefined {
  const installed = findBinary('mongod')
  if (installed !== undefined) return { path: installed, libraryPath: undefined }
  for (let folder = dirname(fileURLToPath(import.meta.url)); folder !== dirname(folder); folder = dirname(folder)) {
    const record = join(folder, '.cache', 'mongod.json')
    if (!existsSync(record)) continue
    const { path, libraryPath } = JSON.parse(readFileSync(record, 'utf8')) as {
      path: string
      libraryPath?: string | null
    }
    return existsSync(path) ? { path, libraryPath: libraryPath ?? undefined } : undefined
  }
  return undefined
}
