import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A script of an example, as `npm run` would start it; npm itself does not always forward signals. */
export interface RunningExample {
  readonly child: ChildProcess
  /** All that it has printed so far. */
  printed(): string
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>
}

export function runExample(
  name: string,
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): RunningExample {
  const folder = join(import.meta.dirname, '..', '..', 'examples', name)
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  const [, ...words] = scripts[script]!.split(' ')
  const child = spawn(process.execPath, [...words, ...args], { cwd: folder, env: { ...process.env, ...env } })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += chunk))
  return {
    child,
    printed: () => printed,
    ended: new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal))),
  }
}
