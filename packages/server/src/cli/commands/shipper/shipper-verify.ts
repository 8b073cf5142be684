import { verifyBuffer } from 'sluice/shipper'
import type { ExitCode } from '../../exit-codes.ts'
import type { Input } from '../../input.ts'
import { bufferDir } from '../../shipper/buffer-dir.ts'
import { count } from '../../terminal/numbers.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { repair } from './repair-buffer.ts'

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
