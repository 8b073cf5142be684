import { inspectBuffer, readState, resetState } from 'sluice/shipper'
import type { ExitCode } from '../../exit-codes.ts'
import type { Input } from '../../input.ts'
import { bufferDir } from '../../shipper/buffer-dir.ts'
import { statusLines, statusOf } from '../../shipper/status.ts'
import type { Terminal } from '../../terminal/terminal.ts'

/** Shows where a buffer stands; with `--reset` lets the next flush try at once. */
export async function shipperStatus(input: Input, terminal: Terminal): Promise<ExitCode> {
  const dir = bufferDir(input)
  if (input.flag('reset')) await resetState(dir)
  const [state, buffer] = [await readState(dir), await inspectBuffer(dir)]
  const nowMs = Date.now()
  const status = statusOf(dir, state, buffer, nowMs)
  terminal.result(status, () => {
    if (input.flag('reset')) terminal.line(terminal.style.good('Reset: the next flush tries at once.'))
    for (const line of statusLines(status, terminal.style, nowMs)) terminal.line(line)
  })
  return 0
}
