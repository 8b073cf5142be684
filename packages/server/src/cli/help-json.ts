import type { Command } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import type { OptionTable } from './option-table.ts'
import { globalOptions } from './options.ts'

/** The first page of help, for programs. */
export function overviewData(commands: readonly Command[], version: string): object {
  return { version, commands: commands.map(inBrief), options: optionList(globalOptions), exitCodes }
}

/** Everything about one command, for programs. */
export function commandData(command: Command): object {
  const { details = [], examples } = command
  return { ...inBrief(command), details, options: optionList(command.options), examples, exitCodes }
}

/** The commands of a group, for programs. */
export function groupData(group: string, commands: readonly Command[]): object {
  return { group, commands: commands.map(inBrief) }
}

function inBrief({ name, args = '', summary }: Command): object {
  return { name, args, summary }
}

function optionList(table: OptionTable): object[] {
  return Object.entries(table).map(([name, spec]) => ({ name, ...spec }))
}
