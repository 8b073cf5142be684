import { randomBytes } from 'node:crypto'

const pattern = /^rejected-(\d{12})(?:-[0-9a-z]+)?\.ndjson$/

/** The files of a directory with events that the server refused permanently, oldest first. */
export function rejectedFiles(files: readonly string[]): string[] {
  return files.filter((file) => pattern.test(file)).sort()
}

/** The file to which the owner of an epoch appends; with a number when earlier names cannot be used. */
export function rejectedFileOf(epoch: number, number: number): string {
  return `rejected-${String(epoch).padStart(12, '0')}${number === 0 ? '' : `-${number}`}.ndjson`
}

/** A name under which no process appends to a file. */
export function takenFileOf(file: string): string {
  return `rejected-${pattern.exec(file)?.[1]}-t${randomBytes(6).toString('hex')}.ndjson`
}
