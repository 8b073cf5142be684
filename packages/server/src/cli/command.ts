import type { ExitCode } from './exit-codes.ts'
import type { Input } from './input.ts'
import type { OptionTable } from './option-table.ts'
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
