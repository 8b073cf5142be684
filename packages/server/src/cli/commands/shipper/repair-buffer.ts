import { repairBuffer } from 'sluice/shipper'
import type { ExitCode } from '../../exit-codes.ts'
import { count } from '../../terminal/numbers.ts'
import type { Terminal } from '../../terminal/terminal.ts'

/** Rewrites damaged segments. */
export async function repair(dir: string, terminal: Terminal): Promise<ExitCode> {
  const report = await repairBuffer(dir)
  terminal.result(report, () => {
    const { style } = terminal
    if (report.repaired.length === 0 && !report.stateReset) return terminal.line(style.good('Nothing to repair.'))
    for (const file of report.repaired) terminal.line(`${style.good('written anew')}  ${file}`)
    for (const file of report.saved) terminal.line(`${style.warn('set aside')}  ${file}`)
    if (report.stateReset) terminal.line(`${style.good('reset')}  the state file was damaged`)
    terminal.line(`${count(report.kept)} events kept, ${count(report.lost)} lost`)
  })
  return 0
}
