import { dropRejected } from 'sluice/shipper'
import type { ExitCode } from '../../exit-codes.ts'
import type { Input } from '../../input.ts'
import { bufferDir } from '../../shipper/buffer-dir.ts'
import { chosenOrAll } from '../../shipper/chosen.ts'
import { count } from '../../terminal/numbers.ts'
import type { Terminal } from '../../terminal/terminal.ts'

/** Removes rejected events permanently. */
export async function dropRejectedEvents(input: Input, terminal: Terminal): Promise<ExitCode> {
  const choose = chosenOrAll(input, '--drop')
  const dropped = await dropRejected(bufferDir(input), choose)
  terminal.result({ dropped }, () => terminal.line(`${count(dropped)} rejected events were dropped`))
  return 0
}
