import type { Options } from '../config/read-options.ts'

/** What was given to a command, by option or by environment variable. */
export interface Input extends Options {
  readonly args: readonly string[]
  /** Whether it was said on the command line, rather than in the environment. */
  given(option: string): boolean
}
