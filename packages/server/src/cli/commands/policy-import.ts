import { CliError } from '../cli-error.ts'
import type { ExitCode } from '../exit-codes.ts'
import type { Input } from '../parse.ts'
import type { Terminal } from '../terminal/terminal.ts'

export async function policyImport(_input: Input, _terminal: Terminal): Promise<ExitCode> {
  throw new CliError(70, 'missing', 'not built yet')
}
