import { wrongUse } from '../../cli-error.ts'
import type { ExitCode } from '../../exit-codes.ts'
import type { Input } from '../../input.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { dropRejectedEvents } from './drop-rejected.ts'
import { listRejectedEvents } from './list-rejected.ts'
import { resendRejectedEvents } from './resend-rejected.ts'

/** Lists rejected events, sends them again, or removes them. */
export function shipperRejected(input: Input, terminal: Terminal): Promise<ExitCode> {
  const [resend, drop] = [input.flag('resend'), input.flag('drop')]
  if (resend && drop) throw wrongUse('sluice shipper rejected takes --resend or --drop, not both')
  if (resend) return resendRejectedEvents(input, terminal)
  return drop ? dropRejectedEvents(input, terminal) : listRejectedEvents(input, terminal)
}
