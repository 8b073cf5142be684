import { type RejectedEvent, rejectedEvents } from 'sluice/shipper'
import type { ExitCode } from '../../exit-codes.ts'
import type { Input } from '../../input.ts'
import { bufferDir } from '../../shipper/buffer-dir.ts'
import { chosen } from '../../shipper/chosen.ts'
import { count, duration } from '../../terminal/numbers.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { columns, safe } from '../../terminal/text.ts'

/** Shows what the server refused permanently, by reason and one by one. */
export async function shipperRejected(input: Input, terminal: Terminal): Promise<ExitCode> {
  const limit = input.whole('limit', 1) ?? 50
  const found = (await rejectedEvents(bufferDir(input))).filter(chosen(input))
  const shown = found.slice(0, limit)
  const reasons = byReason(found)
  const withData = input.flag('data')
  const rows = withData
    ? shown
    : shown.map(({ id, storedAt, rejectedAt, reason }) => ({ id, storedAt, rejectedAt, reason }))
  terminal.result({ total: found.length, reasons, events: rows }, () => {
    const { style } = terminal
    if (found.length === 0) return terminal.line(style.good('Nothing was rejected.'))
    for (const { reason, events } of reasons) terminal.line(`${style.warn(count(events))}  ${safe(reason)}`)
    terminal.line('')
    // Made visible as JSON escapes, so it is still the same JSON.
    if (withData) for (const event of shown) terminal.line(safe(JSON.stringify(event)))
    else {
      const head = ['id', 'rejected', 'reason'].map(style.faint)
      const lines = shown.map(({ id, rejectedAt, reason }) => [
        safe(id),
        `${duration(Date.now() - rejectedAt)} ago`,
        safe(reason),
      ])
      for (const line of columns([head, ...lines], ['left', 'left', 'left'])) terminal.line(line)
    }
    if (shown.length < found.length)
      terminal.line(style.faint(`the first ${count(shown.length)} of ${count(found.length)}`))
  })
  return 0
}

/** How many there are of each reason, the most frequent first; of many reasons only those. */
function byReason(events: readonly RejectedEvent[]): { reason: string; events: number }[] {
  const counts = new Map<string, number>()
  for (const { reason } of events) counts.set(reason, (counts.get(reason) ?? 0) + 1)
  const sorted = [...counts].map(([reason, found]) => ({ reason, events: found })).sort((a, b) => b.events - a.events)
  return sorted.slice(0, 20)
}
