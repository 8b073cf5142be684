import { nearestWord } from 'sluice/internal'
import { wrongUse } from '../cli-error.ts'
import type { Command } from '../command.ts'
import { completionScript, shells } from '../completion.ts'
import type { ExitCode } from '../exit-codes.ts'
import type { Input } from '../input.ts'
import type { Terminal } from '../terminal/terminal.ts'

export async function completion(input: Input, terminal: Terminal, commands: readonly Command[]): Promise<ExitCode> {
  const [shell = ''] = input.args
  if (!shells.includes(shell)) {
    const near = nearestWord(shell, shells)
    throw wrongUse(
      `${JSON.stringify(shell)} is no shell it knows; use ${shells.join(', ')}${near ? ` (did you mean ${near}?)` : ''}`,
    )
  }
  const script = completionScript(shell, commands)
  terminal.result({ shell, script }, () => terminal.write(script))
  return 0
}
