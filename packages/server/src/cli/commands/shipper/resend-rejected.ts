import { resendRejected } from 'sluice/shipper'
import type { ExitCode } from '../../exit-codes.ts'
import type { Input } from '../../input.ts'
import { bufferDir } from '../../shipper/buffer-dir.ts'
import { chosenOrAll } from '../../shipper/chosen.ts'
import { serverOf } from '../../shipper/server-of.ts'
import { count } from '../../terminal/numbers.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { safe } from '../../terminal/text.ts'

/** Sends rejected events again, under the ids that they had. */
export async function resendRejectedEvents(input: Input, terminal: Terminal): Promise<ExitCode> {
  const choose = chosenOrAll(input, '--resend')
  const report = await resendRejected({ dir: bufferDir(input), ...serverOf(input, 'rejected --resend'), choose })
  terminal.result(report, () => {
    const { style } = terminal
    const head = report.reason === undefined ? style.good('Done') : style.bad(`Stopped: ${safe(report.reason)}`)
    const known = report.duplicates > 0 ? `, ${count(report.duplicates)} known to the server already` : ''
    terminal.line(`${head}: ${count(report.sent)} sent${known}, ${count(report.rejected)} refused again`)
  })
  if (report.outcome === 'stopped') return 3
  return report.rejected > 0 ? 1 : 0
}
