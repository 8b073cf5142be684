import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Runs a file of this folder in a separate process, and returns what it prints as JSON. */
export async function child<T>(
  file: string,
  args: readonly (string | number)[],
  nodeArgs: readonly string[] = [],
): Promise<T> {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const { stdout } = await run(process.execPath, [...process.execArgv, ...nodeArgs, path, ...args.map(String)])
  return JSON.parse(stdout) as T
}
