import { parseArgs } from 'node:util'
import { nearestWord } from 'sluice/internal'
import { type Environment, type OptionSpec, type OptionTable, readOptions } from '../config/read-options.ts'
import { wrongUse } from './cli-error.ts'
import type { Command, Input } from './command.ts'
import { globalOptions } from './options.ts'

/** Reads the arguments of a command. A wrong one ends with what would be right. */
export function parseInput(command: Command, argv: readonly string[], env: Environment): Input {
  const table: OptionTable = { ...command.options, ...globalOptions }
  const { tokens } = parseArgs({
    args: [...argv],
    options: toParseOptions(table),
    strict: false,
    tokens: true,
    allowPositionals: true,
  })
  const values = new Map<string, string[]>()
  const args: string[] = []
  for (const token of tokens) {
    if (token.kind === 'positional') args.push(token.value)
    if (token.kind === 'option') readOption(command, table, token, values)
  }
  const [least, most] = command.takes ?? [0, 0]
  if (args.length < least) throw wrongUse(`sluice ${command.name} needs ${command.args}`, seeHelp(command))
  if (args.length > most) throw wrongUse(`${quote(args[most])} is one argument too many`, seeHelp(command))
  return inputOf(table, values, args, env)
}

interface OptionToken {
  readonly name: string
  readonly rawName: string
  readonly value?: string | undefined
}

function readOption(command: Command, table: OptionTable, token: OptionToken, values: Map<string, string[]>): void {
  const negated = token.name.startsWith('no-') && table[token.name] === undefined
  const name = negated ? token.name.slice(3) : token.name
  const spec = table[name]
  if (spec === undefined || (negated && spec.value !== undefined)) throw unknownOption(command, table, token.rawName)
  if (spec.value === undefined) {
    const value = token.value ?? 'true'
    if (!['true', 'false'].includes(value) || (negated && token.value !== undefined))
      throw wrongUse(`--${token.name} is a switch and takes no value but true or false`, seeHelp(command))
    values.set(name, [negated ? 'false' : value])
    return
  }
  if (token.value === undefined || token.value === '')
    throw wrongUse(`--${name} needs a value: --${name} ${spec.value}`, seeHelp(command))
  const former = values.get(name)
  if (former !== undefined && spec.many !== true) throw wrongUse(`--${name} is given twice; keep one of them`)
  checkChoice(`--${name}`, token.value, spec)
  values.set(name, [...(former ?? []), token.value])
}

function inputOf(
  table: OptionTable,
  values: ReadonlyMap<string, readonly string[]>,
  args: readonly string[],
  env: Environment,
): Input {
  // Defaults in tables of commands are for help; each command has its own.
  const sources = Object.fromEntries(Object.entries(table).map(([name, { default: _, ...spec }]) => [name, spec]))
  return { ...readOptions(sources, values, env), args, given: (option) => values.has(option) }
}

function toParseOptions(
  table: OptionTable,
): Record<string, { type: 'string' | 'boolean'; multiple: true; short?: string }> {
  const entries = Object.entries(table).map(([name, { value, short }]) => {
    const type = value === undefined ? ('boolean' as const) : ('string' as const)
    return [name, { type, multiple: true as const, ...(short === undefined ? {} : { short }) }] as const
  })
  return Object.fromEntries(entries)
}

function unknownOption(command: Command, table: OptionTable, rawName: string): Error {
  const near = nearestWord(rawName.replace(/^-+/, ''), Object.keys(table))
  const message = `${command.name} has no option ${rawName}`
  return wrongUse(near === undefined ? message : `${message}; did you mean --${near}?`, seeHelp(command))
}

function checkChoice(name: string, value: string, { choices }: OptionSpec): void {
  if (choices === undefined || choices.includes(value)) return
  const near = nearestWord(value, choices)
  const known = choices.join(', ')
  throw wrongUse(
    `${name} is ${quote(value)}; use one of ${known}${near === undefined ? '' : ` (did you mean ${near}?)`}`,
  )
}

const quote = (text: string | undefined): string => JSON.stringify(text ?? '')

/** Where to read on. */
export function seeHelp(command: Command): string {
  return `see: sluice help ${command.name}`
}
