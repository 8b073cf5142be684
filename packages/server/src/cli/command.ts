import type { Options, OptionTable } from '../config/read-options.ts'
import type { ExitCode } from './exit-codes.ts'
import type { Terminal } from './terminal/terminal.ts'

/** One command: everything help prints about it, and what it does. */
export interface Command {
  /** One word, or two for a command of a group: `policy diff`. */
  readonly name: string
  readonly summary: string
  /** Such as `KEY` or `[FILE]`, as help shows them. */
  readonly args?: string
  /** What the first argument can be, for completion; files when left out. */
  readonly words?: readonly string[]
  /** How few and how many arguments it takes; none unless said otherwise. */
  readonly takes?: readonly [least: number, most: number]
  readonly options: OptionTable
  /** Paragraphs below the summary. */
  readonly details?: readonly string[]
  readonly examples: readonly string[]
  readonly run: (input: Input, terminal: Terminal) => Promise<ExitCode>
}

/** What was given to a command, by option or by environment variable. */
export interface Input extends Options {
  readonly args: readonly string[]
  /** Whether it was said on the command line, rather than in the environment. */
  given(option: string): boolean
}
