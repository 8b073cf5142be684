import { repairBuffer, verifyBuffer } from 'sluice/shipper'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { bufferDir } from '../../shipper/buffer-dir.ts'
import { count } from '../../terminal/numbers.ts'

/** Checks every record of a buffer; with `--repair` sets damage aside instead. */
export async function shipperVerify(input: Input, terminal: Terminal): Promise<ExitCode> {
  const dir = bufferDir(input)
  if (input.flag('repair')) return repair(dir, terminal)
  const { buffer, events, lost, damage } = await verifyBuffer(dir)
  const damaged = damage.filter(({ kind }) => kind === 'damaged')
  const ok = damaged.length === 0 && lost === 0
  terminal.result({ ok, segments: buffer.segments.length, events, lost, damage }, () => {
    const { style } = terminal
    for (const { file, offset, bytes, kind } of damage) {
      const what = kind === 'tail' ? style.faint('cut off by a crash') : style.bad('damaged')
      terminal.line(`${what}  ${file}  ${count(bytes)} bytes at ${count(offset)}`)
    }
    const summary = `${count(events)} events in ${buffer.segments.length} segments`
    terminal.line(
      ok
        ? `${style.good('All is well')}: ${summary}`
        : `${style.bad(`${count(lost)} events lost`)}, ${summary} are good`,
    )
    if (!ok)
      terminal.line(style.faint('A shipper skips what is damaged. sluice shipper verify --repair sets it aside now.'))
  })
  return ok ? 0 : 1
}

/** Rewrites damaged segments. */
async function repair(dir: string, terminal: Terminal): Promise<ExitCode> {
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
