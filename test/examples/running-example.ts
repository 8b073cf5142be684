import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Program, runProgram } from 'example-service/programs'

/** A script of an example, as `npm run` would start it; npm itself does not always forward signals. */
export function runExample(name: string, script: string, env: Readonly<Record<string, string>>): Program {
  const folder = join(import.meta.dirname, '..', '..', 'examples', name)
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>
  }
  return runProgram(scripts[script]!.split(' ').slice(1), env, folder)
}
