import { type RejectedEvent, readRejected } from 'sluice/shipper'
import type { ExitCode } from '../../exit-codes.ts'
import type { Input } from '../../input.ts'
import { bufferDir } from '../../shipper/buffer-dir.ts'
import { chosen } from '../../shipper/chosen.ts'
import { count, duration } from '../../terminal/numbers.ts'
import type { Terminal } from '../../terminal/terminal.ts'
import { columns, safe } from '../../terminal/text.ts'

/** Shows what the server refused permanently, by reason and one by one. */
export async function listRejectedEvents(input: Input, terminal: Terminal): Promise<ExitCode> {
  const limit = input.whole('limit', 1) ?? 50
  const { shown, total, reasons } = await listed(bufferDir(input), chosen(input), limit)
  const withData = input.flag('data')
  const rows = withData
    ? shown
    : shown.map(({ id, storedAt, rejectedAt, reason }) => ({ id, storedAt, rejectedAt, reason }))
  terminal.result({ total, reasons, events: rows }, () => {
    const { style } = terminal
    if (total === 0) return terminal.line(style.good('Nothing was rejected.'))
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
    if (shown.length < total) terminal.line(style.faint(`the first ${count(shown.length)} of ${count(total)}`))
  })
  return 0
}

/** The first ones, and how many there are of each reason: the files may be larger than the memory. */
async function listed(
  dir: string,
  isChosen: (event: RejectedEvent) => boolean,
  limit: number,
): Promise<{ shown: RejectedEvent[]; total: number; reasons: { reason: string; events: number }[] }> {
  const shown: RejectedEvent[] = []
  const counts = new Map<string, number>()
  let total = 0
  for await (const event of readRejected(dir)) {
    if (!isChosen(event)) continue
    total++
    if (shown.length < limit) shown.push(event)
    counts.set(event.reason, (counts.get(event.reason) ?? 0) + 1)
  }
  return { shown: shown.sort((a, b) => a.rejectedAt - b.rejectedAt), total, reasons: mostFrequent(counts) }
}

/** The most frequent reasons first; of many only those. */
function mostFrequent(counts: ReadonlyMap<string, number>): { reason: string; events: number }[] {
  const sorted = [...counts].map(([reason, events]) => ({ reason, events })).sort((a, b) => b.events - a.events)
  return sorted.slice(0, 20)
}
