import { inspectBuffer, pendingEvents } from 'sluice/shipper'
import type { ExitCode } from '../../exit-codes.ts'
import type { Input } from '../../input.ts'
import { bufferDir } from '../../shipper/buffer-dir.ts'
import { count } from '../../terminal/numbers.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { columns, safe } from '../../terminal/text.ts'

/** Lists segments, or the events that wait. */
export async function shipperInspect(input: Input, terminal: Terminal): Promise<ExitCode> {
  const dir = bufferDir(input)
  const limit = input.whole('limit', 1) ?? Number.POSITIVE_INFINITY
  const report = await inspectBuffer(dir)
  if (input.flag('events')) {
    let left = limit
    for await (const event of pendingEvents(dir, report.segments)) {
      if (left-- <= 0) break
      // Made visible as JSON escapes, so it is still the same JSON.
      terminal.line(safe(JSON.stringify(event)))
    }
    return 0
  }
  terminal.result(report, () => {
    const { style } = terminal
    const head = ['segment', 'bytes', 'events', 'pending', 'state'].map(style.faint)
    const rows = report.segments.map(({ name, bytes, firstSeq, nextSeq, pending, isOpen }) => [
      ...[name, count(bytes), count(nextSeq - firstSeq), count(pending)],
      isOpen ? style.accent('open') : 'sealed',
    ])
    for (const line of columns([head, ...rows], ['left', 'right', 'right', 'right', 'left'])) terminal.line(line)
    terminal.line(
      `${count(report.pending)} events wait, ${count(report.bytes)} bytes in ${report.segments.length} segments`,
    )
    for (const file of report.rejectedFiles) terminal.line(`set aside by the server: ${file}`)
  })
  return 0
}
