import { createRequire } from 'node:module'
import { nearestWord } from 'sluice/internal'
import { wrongOption } from '../connections/option-error.ts'
import { type Environment, type Given, type OptionSource, readOptions } from './read-options.ts'
import { readSecret } from './secrets/tokens.ts'

/** Neither a switch of one run nor the file itself. */
const notInFile: readonly string[] = ['config', 'validate']

/**
 * The options of a configuration file: YAML or JSON with the names of the flags, `redis-prefix: shop:`. Where several
 * values are allowed, a list may stand. What flags and variables refuse is refused here, under the name of the file.
 */
export function readConfigFile(
  table: Readonly<Record<string, OptionSource>>,
  flags: ReadonlyMap<string, readonly string[]>,
  env: Environment,
): ReadonlyMap<string, Given> {
  const { value: path, from } = readOptions(table, flags, env).read('config')
  if (path === undefined) return new Map()
  const document = parsed(readSecret(path, from!), path, from!)
  const known = Object.keys(table).filter((name) => !notInFile.includes(name))
  return new Map(
    Object.entries(document).map(([name, value]) => {
      if (!known.includes(name)) {
        const meant = nearestWord(name, known)
        const hint = meant === undefined ? `known are ${known.join(', ')}` : `did you mean ${meant}?`
        throw wrongOption(from!, path, `it has ${JSON.stringify(name)}, which is no option; ${hint}`)
      }
      return [name, { value: textOf(value, name, path, from!), from: `${name} in ${path}` }]
    }),
  )
}

function parsed(text: string, path: string, from: string): Readonly<Record<string, unknown>> {
  let document: unknown
  try {
    // Every command has these options, and few have such a file.
    const { parse } = createRequire(import.meta.url)('yaml') as typeof import('yaml')
    document = parse(text) ?? {}
  } catch (error) {
    throw wrongOption(from, path, `it cannot be read as YAML or JSON: ${(error as Error).message.split('\n')[0]}`)
  }
  if (typeof document === 'object' && document !== null && !Array.isArray(document))
    return document as Record<string, unknown>
  throw wrongOption(from, path, 'write one option per line: port: 8440')
}

function textOf(value: unknown, name: string, path: string, from: string): string {
  const all = Array.isArray(value) ? value : [value]
  if (all.every((each) => ['string', 'number', 'boolean'].includes(typeof each))) return all.join(',')
  throw wrongOption(from, path, `give ${name} a text, a number, true or false, or a list of them`)
}
