/** One option of a command, as help, completion and the parser see it. */
export interface OptionSpec {
  /** The placeholder for the value in the help, such as `URL`; without it the option is a switch. */
  readonly value?: string
  readonly short?: string
  /** Whether it can be given more than once. */
  readonly many?: boolean
  readonly about: string
  /** The environment variables that say the same; the first one that is set counts. */
  readonly env?: readonly string[]
  /** What is in force when it is left out, for help. */
  readonly default?: string
  readonly choices?: readonly string[]
}

export type OptionTable = Readonly<Record<string, OptionSpec>>
