import type { Options, OptionTable } from '../config/read-options.ts'
import type { Style } from './terminal/style.ts'

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

/** What the command line ends with, and what each code means; help and `docs/cli.md` print this table. */
export const exitCodes = {
  0: 'done; for check: allowed',
  1: 'a finding: denied, a policy with mistakes, a difference, something to mend',
  2: 'wrong use: an unknown command or option, or a value that cannot be',
  3: 'out of reach: the daemon, the store or the source of the policy did not answer',
  4: 'not permitted: the daemon wants another token, or Redis another user, password or database',
  70: 'a fault in Sluice itself',
  130: 'interrupted',
  141: 'the reader of the output stopped reading before the end, as `head` does',
} as const

export type ExitCode = keyof typeof exitCodes

/** Where a command writes, and what it can do there. */
export interface Terminal {
  readonly style: Style
  /** Whether the result is wanted as JSON. */
  readonly json: boolean
  /** Whether a person looks at the output right now, so that it can be redrawn. */
  readonly live: boolean
  /** Whether a person looks at the notes right now, and so at the progress. */
  readonly liveProgress: boolean
  readonly columns: number
  readonly rows: number
  readonly env: Readonly<Record<string, string | undefined>>
  /** Writes a line of the result. */
  line(text?: string): void
  /** Writes lines of the result, each after the same indent. */
  lines(texts: readonly string[], indent?: string): void
  /** Writes as is. */
  write(text: string): void
  /** Writes a line beside the result: what is going on, and warnings. */
  note(text: string): void
  noteRaw(text: string): void
  /** Writes the result as JSON when that is wanted, else as `human` puts it. */
  result(value: unknown, human: () => void): void
}
