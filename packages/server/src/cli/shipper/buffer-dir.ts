import { statSync } from 'node:fs'
import { wrongUse } from '../cli-error.ts'
import type { Input } from '../command.ts'

/** The directory that a command works on. */
export function bufferDir(input: Input): string {
  const dir = input.text('dir') ?? 'buffer'
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory()) return dir
  throw wrongUse(`there is no buffer in ${JSON.stringify(dir)}`, 'name its directory: --dir DIR, or SLUICE_SHIPPER_DIR')
}
