/** A variable that is missing or has a wrong value. Its message is the one line that the service ends with. */
export class SettingError extends Error {
  override readonly name = 'SettingError'
}

/** What a number may be. Left out: from 0 to 2147483647, the longest time in ms that a timer takes. */
export interface Range {
  readonly least?: number
  readonly most?: number
}

/** The variables of a process. An empty one counts as unset, as in most shells and manifests. */
export interface Env {
  text(name: string, otherwise: string): string
  optional(name: string): string | undefined
  /** `hint` says what to set it to. */
  required(name: string, hint: string): string
  url(name: string, hint: string): string
  optionalUrl(name: string, hint?: string): string | undefined
  number(name: string, otherwise: number, range?: Range): number
  whole(name: string, otherwise: number, range?: Range): number
  choice<Choice extends string>(name: string, among: readonly Choice[], otherwise: Choice): Choice
  /** Values separated by commas. */
  list(name: string): string[]
}

/** An address that can be printed. */
export const withoutPassword = (address: string): string => address.replace(/^.*@/, '***@')

/** What a timer can wait for; a longer one would fire at once. */
const longestTimerMs = 2 ** 31 - 1
/** Schemes that name the same kind of server. */
const schemes = [
  ['http:', 'https:'],
  ['postgres:', 'postgresql:'],
  ['redis:', 'rediss:'],
]

/** Whether it is an address with a host, and of the same kind as the one in the hint. */
export function isAddress(value: string, hint: string): boolean {
  const usual = /\w+:(?=\/\/)/.exec(hint)?.[0] ?? ''
  const allowed = schemes.find((each) => each.includes(usual))
  if (!URL.canParse(value)) return false
  const { protocol, host } = new URL(value)
  return host !== '' && (allowed === undefined || allowed.includes(protocol))
}

export function readEnv(env: Readonly<Record<string, string | undefined>> = process.env): Env {
  const optional = (name: string): string | undefined => env[name]?.trim() || undefined
  const required = (name: string, hint: string): string => {
    const value = optional(name)
    if (value === undefined) throw new SettingError(`${name} is not set: ${hint}`)
    return value
  }
  const checked = (name: string, value: string, hint: string): string => {
    if (isAddress(value, hint)) return value
    throw new SettingError(`${name} is ${withoutPassword(value)}: ${hint}`)
  }
  const numeric = (what: string, isGood: (value: number) => boolean): Env['number'] => {
    return (name, otherwise, { least = 0, most = name.endsWith('_MS') ? longestTimerMs : Infinity } = {}) => {
      const value = Number(optional(name) ?? otherwise)
      if (isGood(value) && value >= least && value <= most) return value
      const range = most === Infinity ? `from ${least}` : `from ${least} to ${most}`
      throw new SettingError(`${name} is ${optional(name)}: use a ${what} ${range}`)
    }
  }
  return {
    ...{ optional, required },
    text: (name, otherwise) => optional(name) ?? otherwise,
    url: (name, hint) => checked(name, required(name, hint), hint),
    optionalUrl(name, hint = 'use a URL') {
      const value = optional(name)
      return value === undefined ? undefined : checked(name, value, hint)
    },
    number: numeric('number', Number.isFinite),
    whole: numeric('whole number', Number.isSafeInteger),
    choice(name, among, otherwise) {
      const value = optional(name) ?? otherwise
      const found = among.find((each) => each === value)
      if (found !== undefined) return found
      throw new SettingError(`${name} is ${value}: use ${among.join(', ')}`)
    },
    list: (name) => (optional(name) ?? '').split(',').flatMap((each) => each.trim() || []),
  }
}
