import { parseDuration } from 'sluice/internal'
import { wrongOption } from '../connections/option-error.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Where an option comes from when it is not given on the command line. */
export interface OptionSource {
  /** The first one that is set counts. */
  readonly env?: readonly string[]
  readonly default?: string
  /** Whether it can be given more than once; a variable has commas between. */
  readonly many?: boolean
  readonly choices?: readonly string[]
}

/** One option of a command, as help, completion and the parser see it. */
export interface OptionSpec extends OptionSource {
  /** The placeholder for the value in the help, such as `URL`; without it the option is a switch. */
  readonly value?: string
  readonly short?: string
  readonly about: string
  /** What is in force when it is left out, for help, where that is no value. */
  readonly unset?: string
}

export type OptionTable = Readonly<Record<string, OptionSpec>>

/** The value of an option, and the flag or variable that has it; from nowhere when it is a default. */
export interface Given {
  readonly value: string | undefined
  readonly from: string | undefined
}

/** The options of a command. A wrong value is refused under the name that it was given by, with what would be right. */
export interface Options {
  read(name: string): Given
  text(name: string): string | undefined
  many(name: string): readonly string[]
  flag(name: string): boolean
  whole(name: string, least: number, most?: number): number | undefined
  port(name: string): number | undefined
  /** In milliseconds: `500ms`, `5s`, or a plain number of milliseconds. */
  duration(name: string, least: number, most?: number): number | undefined
}

const off = ['', '0', 'no', 'off', 'false']

/**
 * Reads the options of every command by the same rules: a flag, else a variable, else the configuration file, else the
 * default of the table.
 */
export function readOptions(
  table: Readonly<Record<string, OptionSource>>,
  flags: ReadonlyMap<string, readonly string[]>,
  env: Environment,
  file: ReadonlyMap<string, Given> = new Map(),
): Options {
  const read = (name: string): Given => {
    const spec = table[name]
    if (spec === undefined) throw new Error(`--${name} is not in the table of options`)
    const [flag] = flags.get(name) ?? []
    if (flag !== undefined) return { value: flag, from: `--${name}` }
    const variable = spec.env?.find((each) => isSet(env[each]))
    if (variable === undefined) return file.get(name) ?? { value: spec.default, from: undefined }
    const value = env[variable]
    if (spec.choices?.includes(value!) === false)
      throw wrongOption(variable, value, `use one of ${spec.choices.join(', ')}`)
    return { value, from: variable }
  }
  const number = (name: string, parse: (text: string) => number, least: number, most: number, wanted: string) => {
    const { value, from } = read(name)
    if (value === undefined) return undefined
    const found = parse(value)
    if (found >= least && found <= most) return found
    throw wrongOption(from ?? `--${name}`, value, `use ${wanted}`)
  }
  return {
    read,
    text: (name) => read(name).value,
    many(name) {
      const { value, from } = read(name)
      if (from === `--${name}`) return flags.get(name)!
      return value?.split(',').map((each) => each.trim()) ?? []
    },
    flag: (name) => !off.includes(read(name).value?.toLowerCase() ?? ''),
    whole(name, least, most = Number.MAX_SAFE_INTEGER) {
      const to = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`
      return number(name, wholeIn, least, most, `a whole number from ${least}${to}`)
    },
    port: (name) => number(name, wholeIn, 0, 65_535, 'a port from 1 to 65535, or 0 for any free one'),
    duration(name, least, most = Number.MAX_SAFE_INTEGER) {
      const to = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most} ms`
      return number(name, millisecondsIn, least, most, `a time such as 500ms or 5s, from ${least}${to}`)
    },
  }
}

/**
 * An empty variable is as good as none: that is how composed environments leave things out. Kubernetes sets
 * `SLUICE_PORT` to `tcp://...` for a service named sluice.
 */
function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && !value.startsWith('tcp://')
}

function wholeIn(text: string): number {
  const digits = text.replaceAll('_', '')
  return /^\d{1,15}$/.test(digits) ? Number(digits) : Number.NaN
}

function millisecondsIn(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  try {
    return parseDuration(text, '')
  } catch {
    return Number.NaN
  }
}
