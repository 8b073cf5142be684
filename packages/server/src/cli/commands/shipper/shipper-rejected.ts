import { dropRejected, type RejectedEvent, readRejected, resendRejected } from 'sluice/shipper'
import { wrongUse } from '../../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { bufferDir } from '../../shipper/buffer-dir.ts'
import { serverOf } from '../../shipper/server-of.ts'
import { count, duration } from '../../terminal/numbers.ts'
import { columns, safe } from '../../terminal/text.ts'

/** Lists rejected events, sends them again, or removes them. */
export function shipperRejected(input: Input, terminal: Terminal): Promise<ExitCode> {
  const [resend, drop] = [input.flag('resend'), input.flag('drop')]
  if (resend && drop) throw wrongUse('sluice shipper rejected takes --resend or --drop, not both')
  if (resend) return resendRejectedEvents(input, terminal)
  return drop ? dropRejectedEvents(input, terminal) : listRejectedEvents(input, terminal)
}

/** Shows what the server refused permanently, by reason and one by one. */
async function listRejectedEvents(input: Input, terminal: Terminal): Promise<ExitCode> {
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
      terminal.lines(columns([head, ...lines], ['left', 'left', 'left']))
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

/** Removes rejected events permanently. */
async function dropRejectedEvents(input: Input, terminal: Terminal): Promise<ExitCode> {
  const choose = chosenOrAll(input, '--drop')
  const dropped = await dropRejected(bufferDir(input), choose)
  terminal.result({ dropped }, () => terminal.line(`${count(dropped)} rejected events were dropped`))
  return 0
}

/** Sends rejected events again, under the ids that they had. */
async function resendRejectedEvents(input: Input, terminal: Terminal): Promise<ExitCode> {
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

/** Which rejected events `--id` and `--reason` name; all of them without either. */
function chosen(input: Input): (event: RejectedEvent) => boolean {
  const ids = new Set(input.many('id'))
  const reason = input.text('reason')?.toLowerCase()
  return (event) =>
    (ids.size === 0 || ids.has(event.id)) && (reason === undefined || event.reason.toLowerCase().includes(reason))
}

/** The same for what changes them: all only if that was said. */
function chosenOrAll(input: Input, action: string): (event: RejectedEvent) => boolean {
  const isNarrow = input.many('id').length > 0 || input.text('reason') !== undefined
  if (isNarrow === input.flag('all'))
    throw wrongUse(`sluice shipper rejected ${action} needs --id ID or --reason TEXT, or --all instead`)
  return chosen(input)
}
